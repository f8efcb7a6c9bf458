"""Texts that attack whoever shows them: each sets `window.hit`, asks another host, or breaks the layout."""

from collections.abc import Iterator
from html.parser import HTMLParser
from itertools import product

OTHER = "https://other.example"
HIT = "window.hit=1"

TAGS = """
a audio base bdo body button canvas center details dialog embed form frame frameset iframe img input isindex keygen
link main map marquee math menu meta meter noembed noframes noscript object option plaintext portal script select
slot source style summary svg table template textarea title track video xmp x-own
"""
EVENTS = """
onload onerror onclick onfocus onblur onmouseover onpointerrawupdate ontoggle onbegin onend onscroll onwheel
onanimationstart ontransitionend onbeforetoggle oncontentvisibilityautostatechange onpageshow onscrollend
"""
ADDRESSES = (
    f"javascript:{HIT}",
    f"JaVaScRiPt:{HIT}",
    f"java\tscript:{HIT}",
    f"java\nscript:{HIT}",
    f"\x01javascript:{HIT}",
    f" &#14; javascript:{HIT}",
    f"&#106;&#97;vascript&colon;{HIT}",
    f"&#x6a;avascript&#58;{HIT}",
    f"javascript&NewLine;:{HIT}",
    f"vbscript:{HIT}",
    f"data:text/html,<script>{HIT}</script>",
    f"data:text/html;base64,PHNjcmlwdD53aW5kb3cuaGl0PTE8L3NjcmlwdD4=#{HIT}",
    f"data:image/svg+xml,<svg onload={HIT}>",
    f"view-source:javascript:{HIT}",
    f"livescript:{HIT}",
    f"feed:javascript:{HIT}",
    "file:///etc/passwd",
    "blob:null/x",
    "//other.example/x",
    "\\\\other.example\\x",
    f'{OTHER}/x.png" onerror={HIT} x="',
    f"{OTHER}/x.png' onerror={HIT} x='",
    f"{OTHER}/><script>{HIT}</script>",
    f"https://a.example/\u202egnp.exe{HIT}",
)
# Where an address can stand.
HOLDERS = (
    '<a href="{}">x</a>',
    "<a href={}>x</a>",
    '<svg><a xlink:href="{}"><text y=9>x</text></a></svg>',
    '<math><mi xlink:href="{}">x</mi></math>',
    '<img src="{}">',
    '<iframe src="{}"></iframe>',
    '<object data="{}"></object>',
    '<form action="{}"><button autofocus>x</button></form>',
    '<input type=image formaction="{}" src="{}">',
    '<meta http-equiv=refresh content="0;url={}">',
)
# Shapes that other cleaners let through: what is parsed again is not what was cleaned.
MUTATING = tuple(
    shape.format(f"<img src=x onerror={HIT}>")
    for shape in (
        "<noscript><p title='</noscript>{}'>",
        "<template><p title='</template>{}'></template>",
        "<math><mtext><table><mglyph><style><!--</style>{}-->",
        "<math><mtext><table><mglyph><style><math>{}",
        "<svg></p><style><a id='</style>{}'>",
        "<svg><style>&lt;/style&gt;{}",
        "<svg><p><style><!--</style>{}-->",
        "<form><math><mtext></form><form><mglyph><style></math>{}",
        "<math><annotation-xml encoding='text/html'><style>{}</style></annotation-xml></math>",
        "<svg><foreignObject><div>{}</div></foreignObject></svg>",
        "<svg><title><style>{}</style></title></svg>",
        "<svg><desc><noscript>{}</noscript></desc></svg>",
        "<select><option><style></option></select>{}</style>",
        "<select><template><a title='</select>{}'>",
        "<textarea><p title='</textarea>{}'>",
        "<title><p title='</title>{}'>",
        "<xmp><p title='</xmp>{}'>",
        "<noembed><p title='</noembed>{}'>",
        "<noframes><p title='</noframes>{}'>",
        "<iframe><p title='</iframe>{}'>",
        "<plaintext>{}",
        "<style><p title='</style>{}'>",
        "<script><!--<script></script>{}--></script>",
        "<!--><p>{}-->",
        "<!--- --!>{}-->",
        "<![CDATA[<p>]]>{}",
        "<?xml version='1.0'?>{}",
        "<!doctype html [<!entity x '{}'>]>&x;",
        "<p id='`'>`{}`",
        "<a href='x' title='<!--'>{}<!-- -->",
        "<table><caption><svg><table>{}</table></svg></caption></table>",
        "<table><tr><td><table><td>{}</table></table>",
        "<b><i><a><p></b></i></a></p>{}",
        "<pre>\n\n<code></pre></code>{}",
        "<dl><dt><dd><dl></dd></dt></dl></dl>{}",
        "</div></div></div></article></main></body></html>{}",
        "--></style></script></title></textarea></template>{}",
        "&lt;div&gt;{}&lt;/div&gt;&#60;script&#62;",
        "%3Cscript%3E{}%3C/script%3E",
        "+ADw-script+AD4-{}",
    )
)
STYLES = (
    "position:fixed;inset:0;z-index:99999;background:red",
    f"background:url({OTHER}/x.png)",
    f"behavior:url({OTHER}/x.htc)",
    f"width:expression({HIT})",
    "width:99999px",
    "margin-left:-9999px",
    "font-size:9999px",
    "display:none",
)
LONG = (
    "w" * 4_000,
    "https://a.example/" + "long" * 1_000,
    "ﷺ﷽𒐫" * 200,
    "\u00a0" * 3_000,
    "_" * 2_000 + "\u2060" + "_" * 2_000,
    "e" + "\u0301" * 2_000,  # marks that are stacked
    "1" * 4_000,
    "🏳️‍🌈👨‍👩‍👧‍👦" * 300,
    "\t" * 3_000,
    "\n" * 3_000,
    "|" * 2_000,
    "中" * 3_000,
)
CONTROLS = (
    "\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2028\u2029\u2066\u2067\u2068\u2069"
    "\ufeff\u00ad\0\x01\x08\x0c\x1b\x7f\x85"
)
NESTED = (
    "table><tr><td",
    "ul><li",
    "ol><li",
    "blockquote",
    "dl><dd",
    "b",
    "div",
    "font",
    "svg",
    "sub",
    "pre",
    "a",
)


def payloads() -> list[str]:
    """All, without repetitions."""
    return list(dict.fromkeys(_payloads()))


def _payloads() -> Iterator[str]:
    for tag in TAGS.split():
        yield f"<{tag}>{HIT}</{tag}>"
        yield f"<{tag} src={OTHER}/x href={OTHER}/x data={OTHER}/x id=rating name=cookie class=bar autofocus>x"
        yield f"<{tag.upper()}/src='{OTHER}/x'/onload={HIT}/onerror={HIT}//"
        yield f'"></dd></li></td></h3></a><{tag} onload="{HIT}" onerror="{HIT}" src=x>'
    for event in EVENTS.split():
        yield f"<svg {event}={HIT}><animate {event}={HIT} attributeName=x dur=1s></svg>"
        yield f'<p/{event}="{HIT}" tabindex=0 autofocus style="animation:x 1s">x</p>'
        yield f"<img src=x\n{event}\n=\n'{HIT}'>"
        yield f'" {event}="{HIT}" autofocus tabindex=0 x="'
        yield f"' {event}={HIT} autofocus x='"
    for holder, address in product(HOLDERS, ADDRESSES):
        yield holder.replace("{}", address)
    yield from ADDRESSES
    yield from MUTATING
    for style in STYLES:
        yield f'<p style="{style}">x</p>'
        yield f"<style>*{{{style}}}</style>"
        yield f'<table width=99999 background="{OTHER}/x.png" style="{style}"><td width=99999>x</table>'
    yield from LONG
    for control in CONTROLS:
        yield f"before{control * 50}after<script>{HIT}</script>"
        yield f"<scr{control}ipt>{HIT}</script><a href='java{control}script:{HIT}'>x</a>"
    yield CONTROLS * 100
    yield "\u202e" * 500 + "txet"
    for tag in NESTED:
        yield f"<{tag}>" * 400 + "deep"
        yield f"<{tag}>" * 10 + "w" * 300


class Elements(HTMLParser):
    """The elements of a HTML, each with its attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.odd: list[str] = []  # comments and declarations
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_comment(self, data: str) -> None:
        self.odd.append(data)

    handle_decl = handle_pi = unknown_decl = handle_comment
