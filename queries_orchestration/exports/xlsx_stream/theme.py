"""The theme of our workbooks: Excel's own colors and fonts, and nothing drawn with effects."""

from __future__ import annotations

from typing import Final

_COLORS = {
    "dk2": "1F497D",
    "lt2": "EEECE1",
    "accent1": "4F81BD",
    "accent2": "C0504D",
    "accent3": "9BBB59",
    "accent4": "8064A2",
    "accent5": "4BACC6",
    "accent6": "F79646",
    "hlink": "0000FF",
    "folHlink": "800080",
}
_NO_OTHER_SCRIPTS = '<a:ea typeface=""/><a:cs typeface=""/>'
_PLAIN = '<a:solidFill><a:schemeClr val="phClr"/></a:solidFill>'

THEME: Final = (
    '<a:theme xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" name="Office">'
    '<a:themeElements><a:clrScheme name="Office">'
    '<a:dk1><a:sysClr val="windowText" lastClr="000000"/></a:dk1>'
    '<a:lt1><a:sysClr val="window" lastClr="FFFFFF"/></a:lt1>'
    + "".join(f'<a:{name}><a:srgbClr val="{rgb}"/></a:{name}>' for name, rgb in _COLORS.items())
    + '</a:clrScheme><a:fontScheme name="Office">'
    f'<a:majorFont><a:latin typeface="Cambria"/>{_NO_OTHER_SCRIPTS}</a:majorFont>'
    f'<a:minorFont><a:latin typeface="Calibri"/>{_NO_OTHER_SCRIPTS}</a:minorFont>'
    '</a:fontScheme><a:fmtScheme name="Office">'  # of each at least three
    f"<a:fillStyleLst>{_PLAIN * 3}</a:fillStyleLst>"
    f"<a:lnStyleLst>{f'<a:ln>{_PLAIN}</a:ln>' * 3}</a:lnStyleLst>"
    "<a:effectStyleLst>"
    + "<a:effectStyle><a:effectLst/></a:effectStyle>"
    * 3
    + f"</a:effectStyleLst><a:bgFillStyleLst>{_PLAIN * 3}</a:bgFillStyleLst>"
    "</a:fmtScheme></a:themeElements></a:theme>"
)
"""``xl/theme/theme1.xml``."""
