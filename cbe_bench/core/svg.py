"""Figures as SVG: small files, and parts of a page that follow its colours."""

import re

_NUMBER = re.compile(r"-?\d+\.\d+")
_COLOURS = {
    "#000000": "currentColor",
    "#ffffff": "var(--paper)",
    "#b0b0b0": "var(--grid)",
    "#cccccc": "var(--grid)",
    "#262626": "var(--ink)",
    "#333333": "var(--ink)",
    "#404040": "var(--quiet)",
    "#4d4d4d": "var(--quiet)",
    "#595959": "var(--quiet)",
}
"""Greys of the drawing, and what takes their place on a page."""
_RAISED = str.maketrans("0123456789.-", "⁰¹²³⁴⁵⁶⁷⁸⁹·⁻")
_PALETTE = ("0072b2", "56b4e9", "8a8a8a", "d55e00", "009e73", "cc79a7", "e69f00", "6a3d9a", "f0e442", "999999")
"""Colours of methods: on a page each is a variable, --c-0072b2 and so on, which dark pages set brighter."""


def compact(svg: str) -> str:
    """Return an SVG by matplotlib without metadata, with coordinates to a tenth of a point."""
    svg = re.sub(r"<\?xml.*?\?>|<!DOCTYPE.*?>|<metadata>.*?</metadata>|<!--.*?-->", "", svg, flags=re.DOTALL)
    svg = re.sub(r"\s+", " ", svg).replace("> <", "><").strip()
    svg = re.sub(r' (?:d|x|y|x1|x2|y1|y2|transform|width|height|viewBox)="[^"]*"', _rounded, svg)
    used = set(re.findall(r"#([\w.-]+)", svg))
    svg = re.sub(r' id="([^"]*)"', lambda found: found[0] if found[1] in used else "", svg)
    for number, name in enumerate(dict.fromkeys(re.findall(r'id="([^"]*)"', svg))):
        svg = re.sub(rf'(id="|#){re.escape(name)}(?=["\)])', rf"\g<1>i{number}", svg)
    return _without_bare_groups(svg) + "\n"


def _without_bare_groups(svg: str) -> str:
    """Return an SVG without groups that have no attributes: they change nothing."""
    kept: list[bool] = []

    def tag(found: re.Match[str]) -> str:
        if found[0] == "</g>":
            return found[0] if kept.pop() else ""
        if found[0].endswith("/>"):
            return ""
        kept.append(found[0] != "<g>")
        return found[0] if kept[-1] else ""

    return re.sub(r"</g>|<g\b[^>]*>", tag, svg)


def _rounded(found: re.Match[str]) -> str:
    text = _NUMBER.sub(lambda number: f"{float(number[0]):.1f}".removesuffix(".0"), found[0])
    return re.sub(r" ?([MLCQz]) ?", r"\1", text)


def for_page(svg: str, prefix: str, title: str) -> str:
    """Return a compact SVG as a part of a page.

    Its names begin with a prefix, so that no other figure has them; its colours and fonts are those of the page; a
    title says to those who cannot see it what it shows.

    Parameters
    ----------
    svg : str
        The text of a compact SVG.
    prefix : str
        What its names begin with.
    title : str
        What the figure shows, for screen readers.

    Returns
    -------
    str
        An ``svg`` element.
    """
    from html import escape

    for name in set(re.findall(r'id="([^"]+)"', svg)):
        svg = re.sub(rf'(id="|#){re.escape(name)}(?=["\)])', rf"\g<1>{prefix}{name}", svg)
    svg = re.sub(r"(?<=\w)\^(-?[\d.]+)", lambda power: power[1].translate(_RAISED), svg)
    for colour, variable in _COLOURS.items():
        svg = svg.replace(colour, variable)
    svg = re.sub(rf"#({'|'.join(_PALETTE)})", r"var(--c-\1)", svg)
    svg = re.sub(r"font: ([\d.]+px)[^;\"]*", r"font-size: \1", svg)
    svg = re.sub(r"<style.*?</style>", "", svg).replace("<defs></defs>", "").replace("xlink:href", "href")
    styles: dict[str, str] = {}
    svg = re.sub(r' style="([^"]*)"', lambda found: f' class="{_class(found[1], prefix, styles)}"', svg)
    width, height = (float(size) for size in re.findall(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)[0])
    head = f'<svg class="plot" viewBox="0 0 {width:g} {height:g}" style="--w: {width:.0f}" role="img" aria-label="'
    rules = "".join(f".{name}{{{rule.replace(': ', ':').replace('; ', ';')}}}" for rule, name in styles.items())
    begin = f'{head}{escape(title)}"><style>{rules}</style>'
    return re.sub(r"<svg .*?>", lambda _: begin, svg, count=1).strip()


def _class(rule: str, prefix: str, styles: dict[str, str]) -> str:
    """Return the name that stands for a style in this figure."""
    return styles.setdefault(rule, f"{prefix}s{len(styles)}")
