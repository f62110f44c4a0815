import ast
from collections import Counter
from statistics import median

from support.tree import FUNCTIONS, ROOT, modules, shown

MODULE_LINES = 400
MEDIAN_MODULE_LINES = 150
FUNCTION_LINES = 60
P90_FUNCTION_LINES = 30
FOLDER_FILES = 20
#: Lines of tests for each line of the program.
LEAST_TEST_RATIO = 0.55


def module_lines():
    counted = {shown(path): len(path.read_text().splitlines()) for path in modules()}
    return {name: lines for name, lines in counted.items() if lines > 3}


def function_lines():
    return {
        f"{shown(path)}:{node.lineno} {node.name}": node.end_lineno - node.lineno + 1
        for path, tree in modules().items()
        for node in ast.walk(tree)
        if isinstance(node, FUNCTIONS)
    }


def test_no_module_holds_two_ideas():
    assert {name: lines for name, lines in module_lines().items() if lines > MODULE_LINES} == {}


def test_the_median_module_fits_on_three_screens():
    assert median(module_lines().values()) <= MEDIAN_MODULE_LINES


def test_no_function_is_longer_than_a_screen():
    assert {name: lines for name, lines in function_lines().items() if lines > FUNCTION_LINES} == {}


def test_nine_functions_of_ten_are_short():
    lengths = sorted(function_lines().values())
    assert lengths[int(len(lengths) * 0.9)] <= P90_FUNCTION_LINES


def test_no_folder_is_a_warehouse():
    files = Counter(shown(path.parent) for path in modules() if path.stat().st_size)
    assert {folder: count for folder, count in files.items() if count > FOLDER_FILES} == {}


def test_tests_grow_with_the_program():
    program = sum(len(path.read_text().splitlines()) for path in modules())
    tests = sum(len(path.read_text().splitlines()) for path in (ROOT / "tests").rglob("*.py"))
    assert tests / program >= LEAST_TEST_RATIO
