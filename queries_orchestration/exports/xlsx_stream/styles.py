"""The styles of our workbooks: a number for each, and their part of the file."""

from __future__ import annotations

from typing import Final

DATE: Final = 1
MOMENT: Final = 2
MOMENT_MILLISECONDS: Final = 3
TIME: Final = 4
TIME_MILLISECONDS: Final = 5
BOLD: Final = 6

_NUMBER_FORMATS = {
    DATE: "yyyy-mm-dd",
    MOMENT: "yyyy-mm-dd hh:mm:ss",
    MOMENT_MILLISECONDS: "yyyy-mm-dd hh:mm:ss.000",
    TIME: "hh:mm:ss",
    TIME_MILLISECONDS: "hh:mm:ss.000",
}
_FIRST_FORMAT = 163  # ours follow Excel's own, which end with it
_FONT = (
    '<sz val="11"/><color theme="1"/><name val="Calibri"/><family val="2"/><scheme val="minor"/>'
)

STYLES: Final = (
    '<styleSheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">'
    f'<numFmts count="{len(_NUMBER_FORMATS)}">'
    + "".join(
        f'<numFmt numFmtId="{_FIRST_FORMAT + style}" formatCode="{code}"/>'
        for style, code in _NUMBER_FORMATS.items()
    )
    + "</numFmts>"
    f'<fonts count="2"><font>{_FONT}</font><font><b/>{_FONT}</font></fonts>'
    '<fills count="2"><fill><patternFill patternType="none"/></fill>'
    '<fill><patternFill patternType="gray125"/></fill></fills>'
    '<borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>'
    '<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>'
    f'<cellXfs count="{BOLD + 1}"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/>'
    + "".join(
        f'<xf numFmtId="{_FIRST_FORMAT + style}" fontId="0" fillId="0" borderId="0" xfId="0"'
        ' applyNumberFormat="1"/>'
        for style in _NUMBER_FORMATS
    )
    + '<xf numFmtId="0" fontId="1" fillId="0" borderId="0" xfId="0" applyFont="1"/></cellXfs>'
    '<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles>'
    "</styleSheet>"
)
"""``xl/styles.xml``."""
