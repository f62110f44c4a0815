from anubis.testing import FakeThreads


def test_nothing_runs_until_the_test_says_so_and_only_what_it_names():
    threads, ran = FakeThreads(), []
    threads("stage one", lambda: ran.append("one"))
    threads("keeper", lambda: ran.append("keeper"))
    assert (ran, threads.names) == ([], ["stage one", "keeper"])
    assert threads.run("stage") == 1
    assert (ran, threads.names) == (["one"], ["keeper"])


def test_what_a_thread_starts_waits_in_turn():
    threads, ran = FakeThreads(), []
    threads("first", lambda: threads("second", lambda: ran.append("second")))
    assert (threads.run(), ran) == (1, [])
    assert (threads.run(), ran) == (1, ["second"])


def test_a_thread_hangs_until_the_test_ends_it():
    threads, ran = FakeThreads(), []
    threads("first", lambda: ran.append("first"))
    threads("second", lambda: ran.append("second"))
    end = threads.hang()
    threads.run()
    assert ran == ["second"]
    end()
    assert ran == ["second", "first"]
