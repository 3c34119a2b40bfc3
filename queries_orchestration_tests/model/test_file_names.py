"""Names of downloaded files. Case E09: any title at all, every system, every browser."""

from __future__ import annotations

import re
import unicodedata
from datetime import date
from http.client import parse_headers
from io import BytesIO
from pathlib import PurePosixPath, PureWindowsPath
from urllib.parse import unquote

import pytest
from hypothesis import given, strategies as st

from queries_orchestration.model.file_names import (
    LONGEST_FILE_NAME,
    content_disposition,
    file_name,
)

DAY = date(2027, 1, 4)
# RFC 6266 §4.1 with RFC 7230's quoted-string and RFC 8187's ext-value, as narrow as we write them.
DISPOSITION = re.compile(
    r'attachment; filename="([ !#-\[\]-~]*)"'
    r"(?:; filename\*=UTF-8''((?:[A-Za-z0-9!#$&+.^_`|~-]|%[0-9A-F]{2})+))?"
)


def name(title: str) -> str:
    return file_name(title, day=DAY, file_format="csv")


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Weekly orders", "Weekly orders 2027-01-04.csv"),
        # The inputs of case E09.
        ('Отчёт "Q1"/2027;+', "Отчёт-Q1-2027;+ 2027-01-04.csv"),
        ("a\r\nSet-Cookie: x", "a Set-Cookie-x 2027-01-04.csv"),
        ("../../etc/x", "etc-x 2027-01-04.csv"),
        ("CON", "_CON 2027-01-04.csv"),
        ("é" * 300, "é" * 92 + " 2027-01-04.csv"),
        ("", "Result 2027-01-04.csv"),
        # Further ones of their kind.
        ("..\\..\\x", "x 2027-01-04.csv"),
        ("C:\\Users\\x", "C-Users-x 2027-01-04.csv"),
        ("/", "Result 2027-01-04.csv"),
        (" . ", "Result 2027-01-04.csv"),
        (".profile", "profile 2027-01-04.csv"),
        ("-rf", "rf 2027-01-04.csv"),
        ("con.orders", "_con.orders 2027-01-04.csv"),
        ("Lpt9", "_Lpt9 2027-01-04.csv"),
        ("COM¹", "_COM¹ 2027-01-04.csv"),
        ("NUL .x", "_NUL .x 2027-01-04.csv"),
        ("Contracts", "Contracts 2027-01-04.csv"),
        ("orders.CSV", "orders 2027-01-04.csv"),
        (".csv", "Result 2027-01-04.csv"),
        ("orders.exe", "orders.exe 2027-01-04.csv"),
        ("what? *now*", "what-now 2027-01-04.csv"),
        ("a\x00b\x1b[0m\x7f", "ab[0m 2027-01-04.csv"),
        ("tab\tand \u2028line", "tab and line 2027-01-04.csv"),
        ("e\u0301t\u00e9", "été 2027-01-04.csv"),
        ("orders\u202evsc.exe", "ordersvsc.exe 2027-01-04.csv"),
        ("half \ud800", "half 2027-01-04.csv"),
        ("\u200b\u2066", "Result 2027-01-04.csv"),
        ("面积 📈 👩‍💻", "面积 📈 👩‍💻 2027-01-04.csv"),
        ("😀" * 100, "😀" * 46 + " 2027-01-04.csv"),
    ],
)
def test_a_title_becomes_this_file_name(title: str, expected: str) -> None:
    assert name(title) == expected


@pytest.mark.parametrize("file_format", ["csv", "xlsx", "pdf"])
def test_the_extension_is_the_format(file_format: str) -> None:
    made = file_name("x.csv.xlsx.pdf", day=DAY, file_format=file_format)
    assert made.endswith(f" 2027-01-04.{file_format}")


@given(st.text(alphabet=st.characters(), max_size=250))
def test_a_file_name_of_any_title_is_harmless(title: str) -> None:
    made = name(title)
    assert len(made.encode()) <= LONGEST_FILE_NAME
    assert made.endswith(" 2027-01-04.csv")
    assert PurePosixPath(made).name == PureWindowsPath(made).name == made
    assert not PureWindowsPath(made).is_reserved()
    assert not re.search(r'[<>:"|?*\\/]', made)
    assert made[0] not in " .-\u200c\u200d"
    assert not {unicodedata.category(one) for one in made} & {"Cc", "Cs", "Zl", "Zp"}
    assert made.isprintable() or not made.isascii()


@given(st.text(alphabet=st.characters(), max_size=60))
def test_the_header_of_any_title_gives_exactly_its_file_name(title: str) -> None:
    made = name(title)
    assert _read(content_disposition(made)) == made


@given(st.text(alphabet=st.characters(), max_size=60))
def test_the_header_is_sound_for_any_text_at_all(text: str) -> None:
    value = content_disposition(text)
    parsed = parse_headers(BytesIO(f"Content-Disposition: {value}\r\n\r\n".encode("ascii")))
    assert parsed.items() == [("Content-Disposition", value)]
    assert DISPOSITION.fullmatch(value)


@pytest.mark.parametrize(
    ("file_name", "header"),
    [
        ("orders 2027.csv", 'attachment; filename="orders 2027.csv"'),
        ("a;b,c+'d.csv", """attachment; filename="a;b,c+'d.csv\""""),
        (
            "été ½ 面.csv",
            'attachment; filename="ete _ _.csv"; '
            "filename*=UTF-8''%C3%A9t%C3%A9%20%C2%BD%20%E9%9D%A2.csv",
        ),
        ("100%.csv", "attachment; filename=\"100_.csv\"; filename*=UTF-8''100%25.csv"),
        ('"\\.csv', "attachment; filename=\"__.csv\"; filename*=UTF-8''%22%5C.csv"),
        ("a\r\nb", "attachment; filename=\"a__b\"; filename*=UTF-8''a%0D%0Ab"),
        ("\u226e.csv", "attachment; filename=\"_.csv\"; filename*=UTF-8''%E2%89%AE.csv"),
    ],
)
def test_the_header_has_a_plain_name_and_the_whole_one(file_name: str, header: str) -> None:
    assert content_disposition(file_name) == header


def _read(value: str) -> str:
    """The file name as RFC 6266 §4.3 says: the extended one before the plain one."""
    found = DISPOSITION.fullmatch(value)
    assert found is not None
    plain, extended = found.groups()
    return plain if extended is None else unquote(extended, errors="strict")
