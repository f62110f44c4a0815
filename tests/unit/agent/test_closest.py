from anubis.agent.extract.suggestions import Closest, closest_names


def lines(tmp_path, stdout, stderr=b""):
    (tmp_path / "stdout").write_bytes(stdout)
    (tmp_path / "stderr").write_bytes(stderr)
    return str(tmp_path)


def test_lines_that_share_words_come_first(tmp_path):
    record = lines(tmp_path, b"hello\nValidation loss 0.5\nbye\n", b"val_loss = 3\n")
    found = Closest(record).lines("loss", r"Validation loss: (?P<value>[0-9.]+)")
    assert found[0] == "Validation loss 0.5"
    assert found[1] == "val_loss = 3"


def test_a_misspelt_word_counts_as_that_word(tmp_path):
    record = lines(tmp_path, b"acuracy=0.5\nloss=0.1\nfinished\nactually=3\n")
    assert Closest(record).lines("accuracy", r"accuracy=([0-9.]+)")[0] == "acuracy=0.5"


def test_a_whole_word_counts_more_than_a_misspelt_one(tmp_path):
    record = lines(tmp_path, b"accuracy 0.5\nacuracy=0.5\n")
    assert Closest(record).lines("accuracy", r"accuracy=([0-9.]+)") == ["accuracy 0.5", "acuracy=0.5"]


def test_of_lines_that_differ_in_figures_one_is_shown(tmp_path):
    record = lines(tmp_path, b"".join(b"loss %d\n" % i for i in range(5)) + b"other\n")
    assert Closest(record).lines("loss", r"loss=(\d+)") == ["loss 4", "other"]


def test_a_silent_benchmark_has_none(tmp_path):
    assert Closest(lines(tmp_path, b"\n\r\n")).lines("loss", r"loss=(\d+)") == []


def test_long_lines_are_cut(tmp_path):
    (found,) = Closest(lines(tmp_path, b"loss" * 1000 + b"\xff")).lines("loss", r"loss=(\d+)")
    assert len(found) == 200


def test_a_metric_to_be_emitted_shows_what_was_emitted():
    assert closest_names("accuracy", ["acuracy", "loss"])[0] == "emitted: acuracy"
