"""Pictures inside an HTML page: drawn ones as SVG elements, photographs as data URIs."""

import base64
import re

from fan_dense.evaluation.report.style import Look

_REFERENCES = re.compile(r'(xlink:href="#|url\(#)([^")]+)')
_IDS = re.compile(r' id="([^"]+)"')
_STYLE = re.compile(r'<defs>\s*<style.*?</style>\s*</defs>', re.DOTALL)
_SIZE = re.compile(r'(<svg [^>]*?)width="([\d.]+)pt" height="([\d.]+)pt"')
_SHAPES = {
    'o': '<circle cx="18" cy="6" r="3.4"/>',
    's': '<rect x="14.8" y="2.8" width="6.4" height="6.4"/>',
    '^': '<path d="M18 2 22 9.4H14z"/>',
    'v': '<path d="M18 10 22 2.6H14z"/>',
    'D': '<path d="M18 1.6 22.4 6 18 10.4 13.6 6z"/>',
    'P': '<path d="M16.5 2h3v2.5H22v3h-2.5V10h-3V7.5H14v-3h2.5z"/>',
    'X': '<path d="M15.5 2 18 4.3 20.5 2 22 3.5 19.7 6 22 8.5 20.5 10 18 7.7 15.5 10 14 8.5 16.3 6 14 3.5z"/>',
}


def inline(svg: bytes, prefix: str, alt: str) -> str:
    """A drawing of matplotlib as an element for an HTML page.

    Args:
        svg: the file's bytes.
        prefix: put before the ids that are referred to, because those of several drawings in one page would clash;
            the others are left out.
        alt: what it shows, for those who do not see it; must be escaped.
    """
    text = svg.decode()
    text = text[text.index('<svg') :]
    text = _STYLE.sub('', text)  # its rules would hold for the whole page
    used = {name for _, name in _REFERENCES.findall(text)}
    text = _REFERENCES.sub(rf'\g<1>{prefix}-\2', text)
    text = _IDS.sub(lambda match: f' id="{prefix}-{match[1]}"' if match[1] in used else '', text)
    # pt are not those of the page; the drawing may shrink to its box, and grow only to its own size
    size = r'\1style="max-width:\2pt" role="img" aria-label="' + alt.replace('\\', r'\\') + '"'
    return re.sub(r'\n\s*', ' ', _SIZE.sub(size, text, count=1)).strip()


def key(look: Look) -> str:
    """A short piece of a model's line with its marker, for a legend."""
    dashes = ''
    if not isinstance(look.dashes, str):
        dashes = f' stroke-dasharray="{" ".join(f"{1.6 * length:g}" for length in look.dashes[1])}"'
    return (
        f'<svg class="key" viewBox="0 0 36 12" width="36" height="12" aria-hidden="true" fill="{look.colour}">'
        f'<path d="M0 6H36" stroke="{look.colour}" stroke-width="2"{dashes}/>{_SHAPES[look.marker]}</svg>'
    )


def data_uri(name: str, content: bytes) -> str:
    """A JPEG or PNG file as an address that holds it."""
    kind = 'png' if name.lower().endswith('.png') else 'jpeg'
    return f'data:image/{kind};base64,{base64.b64encode(content).decode()}'
