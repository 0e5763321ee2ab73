"""Draws SVG charts for docs/performance.md: bar charts that start at zero, and heat maps."""

import itertools
from html import escape

LINE, LEFT, WIDTH, RIGHT = 26, 120, 480, 130
STYLE = "font: 13px sans-serif"
OURS, OTHERS, TEXT = "#d9622b", "#7d97b5", "#444"


def bars(title, rows, unit, ours=(0,)):
    """Draws a bar for each row. A row has a name, a value, a low and a high.

    A line on the bar marks the range from low to high. The rows in `ours` are highlighted."""
    longest = max(high for *_, high in rows)
    left = max(LEFT, 7 * max(len(name) for name, *_ in rows) + 10)
    parts = [text(0, 18, title, "font-weight: bold")]
    for number, (name, value, low, high) in enumerate(rows):
        top = 34 + number * LINE
        end, start, stop = (left + (LEFT + WIDTH - left) * part / longest for part in (value, low, high))
        middle = top + LINE / 2 - 4
        colour = OURS if number in ours else OTHERS
        parts += [
            text(left - 8, middle + 5, name, "text-anchor: end"),
            f'<rect x="{left}" y="{top}" width="{end - left:.1f}" height="{LINE - 8}" fill="{colour}"/>',
            f'<path d="M{start:.1f} {middle}H{stop:.1f}" stroke="{TEXT}" stroke-width="2"/>',
            text(stop + 8, middle + 5, f"{value:,.1f} {unit}"),
        ]
    return "\n".join(parts), 34 + len(rows) * LINE + 14


def text(x, y, words, style=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{TEXT}" style="{STYLE}; {style}">{escape(words)}</text>'


def page(panels):
    """Arranges the panels below each other in one picture."""
    parts, height = [], 8
    for panel, size in panels:
        parts.append(f'<g transform="translate(8 {height})">\n{panel}\n</g>')
        height += size
    width = 8 + LEFT + WIDTH + RIGHT
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">\n'
        f'<rect width="{width}" height="{height}" fill="#fff"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def heat(title, rows, most):
    """Draws a row per partition and a cell per period.

    The shade of a cell shows the utilisation. Red means throttling."""
    size = 14
    parts = [text(0, 18, title, "font-weight: bold")]
    for number, cells in enumerate(rows):
        top = 30 + number * size
        parts.append(text(LEFT - 8, top + 11, f"partition {number + 1}", "font-size: 11px; text-anchor: end"))
        colours = ["#b3261e" if refused else shade(taken / most) for taken, refused in cells]
        left, cell = LEFT, WIDTH / len(cells)
        for colour, run in itertools.groupby(colours):
            wide = cell * len(list(run))
            parts.append(f'<rect x="{left:.1f}" y="{top}" width="{wide:.1f}" height="{size - 2}" fill="{colour}"/>')
            left += wide
        parts.append(text(LEFT + WIDTH + 8, top + 11, f"{max(taken for taken, _ in cells):,} /s", "font-size: 11px"))
    return "\n".join(parts), 30 + len(rows) * size + 16


def shade(part):
    """Returns a shade from white (no writes) to dark blue (full partition), in steps of 5 %."""
    empty, full = (238, 242, 247), (29, 78, 137)
    mixed = (round(low + (high - low) * round(min(part, 1) * 20) / 20) for low, high in zip(empty, full, strict=True))
    return "#" + "".join(f"{value:02x}" for value in mixed)
