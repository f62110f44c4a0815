"""The price table: what is valid, what is refused, and what a limit of cost needs."""

import os

import pytest

from anubis.contracts.world import FixedPrices
from anubis.model.errors import BadInputError
from anubis.model.hardware import NO_PRICES, Hardware, Prices
from anubis.submission.price_table import PriceFile
from anubis.submission.refusals import without_price
from anubis.testing import a_descriptor

GOOD = 'currency = "USD"\n[machines]\nlocal = 0.05\n"p3.8xlarge" = 12\n[hosts]\ngpu01 = 2.5\n'


def test_a_host_has_its_price_and_others_that_of_their_type(tmp_path):
    (tmp_path / "prices.toml").write_text(GOOD)
    prices = PriceFile(tmp_path / "prices.toml").current()
    assert prices.per_hour("local") == 0.05
    assert prices.per_hour("local", "gpu01") == 2.5
    assert prices.per_hour("other") is None


def test_without_a_file_no_price_is_known(tmp_path):
    assert PriceFile(tmp_path / "none.toml").current() == NO_PRICES


def test_a_file_that_was_named_must_exist(tmp_path):
    with pytest.raises(BadInputError, match="no price table") as caught:
        PriceFile(tmp_path / "none.toml", required=True).current()
    assert "ANUBIS_PRICES" in caught.value.remedy


def test_a_changed_file_is_read_again(tmp_path):
    file = tmp_path / "prices.toml"
    file.write_text(GOOD)
    table = PriceFile(file)
    table.current()
    file.write_text(GOOD.replace("0.05", "0.07"))
    os.utime(file, ns=(1, 1))
    assert table.current().per_hour("local") == 0.07


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("[machines]\nlocal = 1", "currency"),
        ('currency = "dollars"', "currency"),
        ('currency = "USD"\nmachines = 3', "machines"),
        ('currency = "USD"\n[machines]\nlocal = "1"', "machines.local"),
        ('currency = "USD"\n[machines]\nlocal = -1', "machines.local"),
        ('currency = "USD"\n[machines]\nlocal = nan', "machines.local"),
        ('currency = "USD"\n[machines]\nlocal = true', "machines.local"),
        ('currency = "USD"\n[machine]\nlocal = 1', "machine"),
    ],
)
def test_what_is_not_valid_is_named(tmp_path, text, path):
    (tmp_path / "prices.toml").write_text(text)
    with pytest.raises(BadInputError) as caught:
        PriceFile(tmp_path / "prices.toml").current()
    assert [problem.path for problem in caught.value.problems] == [path]
    assert f"{path}: {caught.value.problems[0].message}" in caught.value.message
    assert "for example" in caught.value.remedy or "machines" in caught.value.remedy


@pytest.mark.parametrize("content", [b"currency = ", b"\xff\xfe"])
def test_a_file_that_is_not_toml_is_refused(tmp_path, content):
    (tmp_path / "prices.toml").write_bytes(content)
    with pytest.raises(BadInputError):
        PriceFile(tmp_path / "prices.toml").current()


@pytest.mark.parametrize(
    ("prices", "said"),
    [
        (NO_PRICES, "USD"),
        (Prices(currency="EUR", machines={"local": 1.0}), "the price table is in EUR"),
        (Prices(currency="USD", machines={"other": 1.0}), "local"),
    ],
)
def test_a_limit_of_cost_needs_the_price_of_the_machine(prices, said):
    descriptor = a_descriptor(hardware=Hardware(instance_type="local"))
    (problem,) = without_price("hardware.max_cost", "5 USD", descriptor, FixedPrices(prices))
    assert said in problem.message
    assert "ANUBIS_PRICES" in problem.remedy


@pytest.mark.parametrize("table", [{"machines": {"local": 1.0}}, {"hosts": {"gpu01": 1.0}}])
def test_a_limit_of_cost_with_a_price_is_accepted(table):
    descriptor = a_descriptor(hardware=Hardware(instance_type="local"))
    table = FixedPrices(Prices(currency="USD", **table))
    assert not list(without_price("hardware.max_cost", "5 USD", descriptor, table))
