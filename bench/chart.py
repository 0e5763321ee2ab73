"""Draws SVG charts for docs/performance.md: bar charts and heat maps, in light and dark colours."""

import itertools
import math
import textwrap
from html import escape

LINE, LEFT, WIDTH, RIGHT = 26, 120, 480, 130
STYLE = """\
text { font: 13px sans-serif; fill: #333; stroke: #fff; stroke-width: 3px; paint-order: stroke } .title { font-weight: bold } .small { font-size: 11px }
.end { text-anchor: end } .middle { text-anchor: middle } .page { fill: #fff } .grid { stroke: #ddd }
.ours { fill: #d9622b } .others { fill: #7d97b5 } .load { fill: #1d4e89 } .throttled { fill: #c62828 }
.range { stroke: #222; stroke-width: 2; fill: none } .target { stroke: #222; stroke-dasharray: 4 3 }
.empty { fill: #edf1f6 }
@media (prefers-color-scheme: dark) {
text { fill: #ddd; stroke: #0d1117 } .page { fill: #0d1117 } .grid { stroke: #333 } .ours { fill: #e8804f } .others { fill: #6883a3 }
.load { fill: #8ab8f0 } .throttled { fill: #ef5350 } .empty { fill: #1b222b }
.range, .target { stroke: #fff } }
"""
RANGE = ("range", "first to third quartile")


def bars(title, rows, axis, by, ours=(0,), log=False, to=0, target=None):
    """Draws a bar for each row. A row has a name, a value, a low and a high.

    A line on the bar marks the range from low to high. The rows in `ours` are highlighted. `axis`
    names the value and its unit, and `by` names the rows. The axis ends at `to` or later. A dashed
    line marks the target."""
    longest = max(to, target or 0, *(high for *_, high in rows))
    marks = decades(min(low for _, _, low, _ in rows), longest) if log else ticks(longest)
    left = max(LEFT, 8 * max(len(by), *(len(name) for name, *_ in rows)) + 10)
    bottom = 42 + len(rows) * LINE

    def x(value):
        part = math.log(value / marks[0]) / math.log(marks[-1] / marks[0]) if log else value / marks[-1]
        return left + (LEFT + WIDTH - left) * part

    parts = [text(0, 14, title, "title"), text(left - 8, 34, by, "axis-title small end")]
    labels = []
    for mark in marks:
        parts += [line(x(mark), 38, bottom, "grid"), text(x(mark), bottom + 14, f"{mark:,.6g}", "small middle")]
    for number, (name, value, low, high) in enumerate(rows):
        top = 42 + number * LINE
        middle = top + LINE / 2 - 4
        kind = "ours" if number in ours else "others"
        parts.append(text(left - 8, middle + 5, name, "end"))
        parts.append(f'<rect class="{kind}" x="{left:.1f}" y="{top}" width="{x(value) - left:.1f}" height="{LINE - 8}"/>')
        if high > low:
            parts.append(f'<path class="range" d="{whisker(x(low), x(high), middle)}"/>')
        labels.append(text(x(high) + 8, middle + 5, shown(value)))
    if target:
        parts.append(line(x(target), 38, bottom, "target"))
    scale = ", logarithmic scale" if log else ""
    parts.append(text((left + LEFT + WIDTH) / 2, bottom + 30, axis + scale, "axis-title small middle"))
    return "\n".join(parts + labels), bottom + 46


def whisker(start, stop, middle):
    return f"M{start:.1f} {middle}H{stop:.1f}M{start:.1f} {middle - 4}v8M{stop:.1f} {middle - 4}v8"


def shown(value):
    """Formats a number with about three significant digits."""
    return f"{value:,.{0 if value >= 100 else 1 if value >= 10 else 2}f}"


def ticks(highest):
    """Returns round numbers from 0 to at least the highest value."""
    size = 10 ** math.floor(math.log10(highest / 4))
    step = next(size * factor for factor in (1, 2, 2.5, 5, 10) if size * factor * 4 >= highest)
    return [step * number for number in range(math.ceil(highest / step) + 1)]


def decades(lowest, highest):
    """Returns the powers of ten around the values. The shortest bar has a visible length."""
    return [10.0**power for power in range(math.floor(math.log10(lowest / 1.5)), math.ceil(math.log10(highest)) + 1)]


def text(x, y, words, kind=""):
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{escape(words)}</text>'


def line(x, top, bottom, kind):
    return f'<path class="{kind}" d="M{x:.1f} {top}V{bottom}"/>'


def page(panels, legend, notes=()):
    """Arranges the legend, the panels and the notes below each other in one picture.

    An entry of the legend has the class of its symbol, and its meaning. A note has a name and its
    meaning."""
    width, height = 8 + LEFT + WIDTH + RIGHT, 12
    parts = [key(legend)]
    height += parts[0].count("<text") * 20 + 14
    for panel, size in panels:
        parts.append(f'<g class="panel" transform="translate(8 {height})">\n{panel}\n</g>')
        height += size
    for name, meaning in notes:
        for words in textwrap.wrap(f"{name}: {meaning}", 112, subsequent_indent="    "):
            parts.append(text(20 if words.startswith(" ") else 8, height + 10, words.strip(), "note small"))
            height += 16
    height += 12
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">\n'
        f'<style>\n{STYLE}</style>\n<rect class="page" width="{width}" height="{height}"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def key(legend):
    """Draws the legend, with one entry per line."""
    parts = []
    for number, (kind, meaning) in enumerate(legend):
        y = 10 + number * 20
        if kind == "range":
            parts.append(f'<path class="range" d="{whisker(8, 30, y + 6)}"/>')
        elif kind == "target":
            parts.append(line(19, y - 2, y + 14, "target"))
        elif kind == "scale":
            steps = "".join(f'<rect class="load" x="{8 + 4.4 * step:.1f}" y="{y}" width="4.4" height="12" fill-opacity="{step / 4}"/>'
                            for step in range(5))
            parts.append(f'<rect class="empty" x="8" y="{y}" width="22" height="12"/>{steps}')
        else:
            parts.append(f'<rect class="{kind}" x="8" y="{y}" width="22" height="12"/>')
        parts.append(text(38, y + 11, meaning, "small"))
    return '<g class="legend">\n' + "\n".join(parts) + "\n</g>"


def heat(title, rows, most, axis, periods):
    """Draws a row per partition and a cell per period.

    The opacity of a cell shows the utilisation, in steps of 5 %. Red means throttling. `axis` names
    the time, and the row ends after `periods` of its unit."""
    size = 14
    bottom = 38 + len(rows) * size
    parts = [text(0, 14, title, "title"), text(LEFT - 8, 32, "partition", "axis-title small end")]
    parts.append(text(LEFT + WIDTH + 8, 32, "highest, WRU/s", "axis-title small"))
    for number, cells in enumerate(rows):
        top = 38 + number * size
        parts.append(text(LEFT - 8, top + 11, f"{number + 1}", "small end"))
        kinds = ['class="throttled"' if refused else f'class="load" fill-opacity="{round(min(taken / most, 1) * 20) / 20:g}"'
                 for taken, refused in cells]
        parts.append(f'<rect class="empty" x="{LEFT}" y="{top}" width="{WIDTH}" height="{size - 2}"/>')
        left, cell = LEFT, WIDTH / len(cells)
        for kind, run in itertools.groupby(kinds):
            wide = cell * len(list(run))
            parts.append(f'<rect {kind} x="{left:.1f}" y="{top}" width="{wide:.1f}" height="{size - 2}"/>')
            left += wide
        parts.append(text(LEFT + WIDTH + 8, top + 11, f"{max(taken for taken, _ in cells):,}", "small"))
    for mark in range(0, periods + 1, 5):
        parts.append(text(LEFT + WIDTH * mark / periods, bottom + 12, f"{mark}", "small middle"))
    parts.append(text(LEFT + WIDTH / 2, bottom + 28, axis, "axis-title small middle"))
    return "\n".join(parts), bottom + 46
