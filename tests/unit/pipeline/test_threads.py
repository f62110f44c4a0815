import queue
import threading

from anubis.pipeline.threads import Threads


def test_work_runs_in_a_daemon_thread_of_that_name():
    ran = queue.SimpleQueue()

    Threads()("stage fake", lambda: ran.put(threading.current_thread()))

    thread = ran.get()
    assert thread is not threading.current_thread()
    assert (thread.name, thread.daemon) == ("stage fake", True)


def test_a_thread_that_hangs_keeps_no_other_work_waiting():
    threads, hang, ran = Threads(), threading.Event(), queue.SimpleQueue()
    threads("hanging", hang.wait)

    for number in range(3):
        threads("other", lambda number=number: ran.put(number))

    assert {ran.get() for _ in range(3)} == {0, 1, 2}
    hang.set()


def test_a_thread_is_used_again():
    threads, ran = Threads(), queue.SimpleQueue()
    threads("first", lambda: ran.put(threading.current_thread()))
    first = ran.get()
    while not threads.idle:  # it has answered, and is about to wait for more
        pass

    threads("second", lambda: ran.put(threading.current_thread()))

    assert ran.get() is first
    assert first.name == "second"


def test_a_thread_without_work_ends(monkeypatch):
    monkeypatch.setattr("anubis.pipeline.threads.LINGER_S", 0.0)
    threads, ran = Threads(), queue.SimpleQueue()
    for _ in range(20):
        threads("brief", lambda: ran.put(threading.current_thread()))
        ran.get().join()
    assert threads.idle == 0
