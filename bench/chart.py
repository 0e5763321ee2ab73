"""Charts as SVG, for docs/performance.md: bars that begin at zero, with their values written beside them."""

from html import escape

LINE, LEFT, WIDTH, RIGHT = 26, 120, 480, 130
STYLE = "font: 13px sans-serif"
OURS, OTHERS, TEXT = "#d9622b", "#7d97b5", "#444"


def bars(title, rows, unit):
    """Rows are name, value, and low and high, drawn as a line over the bar's end; the first stands out."""
    longest = max(high for *_, high in rows)
    parts = [text(0, 18, title, "font-weight: bold")]
    for number, (name, value, low, high) in enumerate(rows):
        top = 34 + number * LINE
        end, start, stop = (LEFT + WIDTH * part / longest for part in (value, low, high))
        middle = top + LINE / 2 - 4
        colour = OTHERS if number else OURS
        parts += [
            text(LEFT - 8, middle + 5, name, "text-anchor: end"),
            f'<rect x="{LEFT}" y="{top}" width="{end - LEFT:.1f}" height="{LINE - 8}" fill="{colour}"/>',
            f'<path d="M{start:.1f} {middle}H{stop:.1f}" stroke="{TEXT}" stroke-width="2"/>',
            text(stop + 8, middle + 5, f"{value:,.1f} {unit}"),
        ]
    return "\n".join(parts), 34 + len(rows) * LINE + 14


def text(x, y, words, style=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{TEXT}" style="{STYLE}; {style}">{escape(words)}</text>'


def page(panels):
    """One picture of the panels, one below the other."""
    parts, height = [], 8
    for panel, size in panels:
        parts.append(f'<g transform="translate(8 {height})">\n{panel}\n</g>')
        height += size
    width = 8 + LEFT + WIDTH + RIGHT
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">\n'
        f'<rect width="{width}" height="{height}" fill="#fff"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )
