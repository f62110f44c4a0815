from anubis.agent import process_tree

ROWS = {
    1: [b"S", b"0"],
    10: [b"S", b"1"],
    11: [b"S", b"10"],
    12: [b"R", b"11"],
    13: [b"Z", b"11"],
    14: [b"S", b"10"],
    15: [b"S", b"14"],
    20: [b"S", b"1"],
}


def test_everything_below_a_process_parents_first():
    assert process_tree.descendants(10, set(), ROWS) == [11, 14, 12, 15]


def test_branches_can_be_left_out():
    assert process_tree.descendants(10, {14}, ROWS) == [11, 12]


def test_a_process_that_is_gone_has_nothing_below():
    assert process_tree.descendants(99, set(), ROWS) == []
    assert process_tree.command_line(2**22 + 1) == ""
