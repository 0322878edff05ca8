"""The page's style: one column of text, the chain beside it where there is room; light, dark, and
on paper.
"""

from __future__ import annotations

from chat_loop.export.markup import COLOURS

_SHEET = """
:root {
  --ground: #fbfaf7; --card: #ffffff; --tint: #f1eee7; --line: #dedad0; --text: #24262b; --soft: #5d616b;
  --accent: #0f5a8a; --edge: #0f5a8a; --mark: #fff3c4;
  --c: #646a73; --k: #8a2f6b; --s: #33691e; --n: #8a4b00; --f: #1d4f91; --b: #0b6570; --o: #5b5f68;
  --d: #a3232c; --i: #22662f;
  --sans: system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Helvetica Neue", Arial, sans-serif;
  --mono: ui-monospace, "SF Mono", "Cascadia Mono", "JetBrains Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #16181c; --card: #1d2025; --tint: #23272e; --line: #353a43; --text: #dfe1e6; --soft: #a0a6b2;
    --accent: #86bff0; --edge: #4f8fc4; --mark: #4a3f16;
    --c: #939aa6; --k: #e29bcb; --s: #a8cf8e; --n: #e5b57a; --f: #8fbcf2; --b: #7fd0d6; --o: #b3b9c4;
    --d: #f2979b; --i: #9ad6a0;
  }
}
*, *::before, *::after { box-sizing: border-box; }
html { color-scheme: light dark; scroll-padding-top: 1rem; -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body { margin: 0; background: var(--ground); color: var(--text); font: 1.0625rem/1.62 var(--sans); }
a { color: var(--accent); text-underline-offset: .18em; text-decoration-thickness: .06em; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 2px; }
.skip { position: absolute; left: -99rem; }
.skip:focus { left: 1rem; top: 1rem; background: var(--card); padding: .4rem .8rem; z-index: 1; }

.top { max-width: 74rem; margin: 0 auto; padding: 2.5rem 1.25rem 1.25rem; }
.top p { margin: 0; overflow-wrap: anywhere; }
.kicker, .label { font-size: .8125rem; font-weight: 600; letter-spacing: .02em; color: var(--accent); }
h1 { font-size: clamp(1.375rem, 1.1rem + 1.2vw, 1.875rem); line-height: 1.25; letter-spacing: -.012em;
  margin: .3rem 0 .5rem; max-width: 44rem; font-weight: 650; overflow-wrap: anywhere; }
.soft, time, .cost { color: var(--soft); font-size: .8125rem; font-variant-numeric: tabular-nums; }

.frame { max-width: 74rem; margin: 0 auto; padding: 0 1.25rem 4rem; }
nav.chain { border: 1px solid var(--line); border-radius: .6rem; background: var(--card); padding: .3rem 0;
  margin-bottom: 1.75rem; }
nav.chain h2 { font-size: .8125rem; font-weight: 600; color: var(--soft); margin: .5rem 1rem .2rem; }
nav.chain ol { list-style: none; margin: 0; padding: 0; }
nav.chain > ol > li + li { border-top: 1px solid var(--line); }
nav.chain a { display: block; padding: .5rem 1rem; text-decoration: none; overflow-wrap: anywhere; }
nav.chain a:hover { background: var(--tint); }
nav.chain > ol > li > a { display: flex; flex-wrap: wrap; gap: 0 .7rem; align-items: baseline; }
nav.chain > ol > li > a b { flex-basis: 100%; font-size: .9375rem; font-weight: 600; line-height: 1.4; }
nav.chain details { padding: 0 0 .4rem; }
nav.chain summary { font-size: .8125rem; color: var(--soft); padding: .15rem 1rem; cursor: pointer; }
nav.chain details a { display: grid; grid-template-columns: 2.6rem 1fr; padding: .2rem 1rem; font-size: .875rem;
  line-height: 1.4; color: var(--text); }
nav.chain details a span { color: var(--soft); font-variant-numeric: tabular-nums; }
main { min-width: 0; max-width: 46rem; }
@media (min-width: 64rem) {
  .frame { display: grid; grid-template-columns: 17rem minmax(0, 46rem); gap: 3.5rem; align-items: start; }
  nav.chain { position: sticky; top: 1rem; margin: 0; max-height: calc(100vh - 2rem); overflow: auto; }
}

.session { padding-top: .5rem; }
.session + .session { margin-top: 3.5rem; border-top: 1px solid var(--line); padding-top: 2.25rem; }
.session > header h2 { font-size: 1.3125rem; line-height: 1.3; margin: 0; letter-spacing: -.01em; }
.session > header p { margin: .15rem 0 0; overflow-wrap: anywhere; }
.exchange { margin: 2.25rem 0; }
.long .exchange { content-visibility: auto; contain-intrinsic-size: auto 30rem; }
.who { display: flex; flex-wrap: wrap; align-items: baseline; gap: 0 .6rem; margin-bottom: .3rem; }
.who b { font-size: .875rem; font-weight: 650; overflow-wrap: anywhere; min-width: 0; }
.who .ref { margin-left: auto; color: var(--soft); font-size: .8125rem; text-decoration: none;
  font-variant-numeric: tabular-nums; }
.who .ref:hover { text-decoration: underline; }
.query { background: var(--tint); border-left: 3px solid var(--edge); border-radius: .25rem .6rem .6rem .25rem;
  padding: .75rem 1rem; margin-bottom: 1.25rem; }
.exchange:target .query { background: var(--mark); }
.reply { margin: 1.25rem 0; }
.cost { margin: .5rem 0 0; }
.note { font-size: .9375rem; border-left: 3px solid var(--line); padding: .1rem 0 .1rem 1rem; margin: 1rem 0; }

.said { overflow-wrap: anywhere; unicode-bidi: isolate; }
.said > :first-child { margin-top: 0; }
.said > :last-child { margin-bottom: 0; }
.said p, .said ul, .said ol, .said blockquote, .said .wide, figure { margin: .8em 0; }
.said ul, .said ol { padding-inline-start: 1.5em; }
.said li + li { margin-top: .25em; }
.said li > p { margin: .4em 0; }
.said li > ul, .said li > ol { margin: .25em 0; }
.said h4, .said h5, .said h6 { line-height: 1.35; margin: 1.5em 0 .4em; font-size: 1.0625rem; font-weight: 650; }
.said h4 { font-size: 1.1875rem; }
.said blockquote { margin-inline: 0; padding-inline-start: 1rem; border-inline-start: 3px solid var(--line);
  color: var(--soft); }
.said hr { border: 0; border-top: 1px solid var(--line); margin: 1.5em 0; }
.image { font-style: italic; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .9375rem; overflow-wrap: normal; }
th, td { border-bottom: 1px solid var(--line); padding: .35rem .8rem; text-align: start; vertical-align: top; }
th { font-weight: 600; }
.right { text-align: right; }
.center { text-align: center; }
code, pre { font-family: var(--mono); font-size: .875em; font-variant-ligatures: none; }
:not(pre) > code { background: var(--tint); border-radius: .25rem; padding: .1em .3em; overflow-wrap: anywhere; }
.query :not(pre) > code { background: var(--ground); }
figure { border: 1px solid var(--line); border-radius: .5rem; background: var(--card); overflow: hidden; }
figcaption { font-size: .75rem; color: var(--soft); padding: .35rem .9rem 0; }
figure pre { margin: 0; padding: .7rem .9rem; overflow-x: auto; line-height: 1.5; overflow-wrap: normal;
  unicode-bidi: plaintext; tab-size: 4; }
figure code { font-size: inherit; }
.attached img { display: block; max-width: 100%; height: auto; }
.attached figcaption { padding-bottom: .35rem; overflow-wrap: anywhere; }
pre.typed { white-space: pre-wrap; overflow-wrap: anywhere; margin: .8em 0; line-height: 1.5; }

.fold { border: 1px solid var(--line); border-radius: .5rem; margin: .8rem 0; background: var(--card); }
.fold > summary { cursor: pointer; padding: .5rem .9rem; font-size: .875rem; overflow-wrap: anywhere; }
.fold > summary b { font-weight: 600; }
.fold.about, .fold.about > summary { border: 0; background: none; padding-inline: 0; margin: 0; color: var(--soft); }
.fold.about > div { padding: .3rem 0 0; }
.fold[open]:not(.about) > summary { border-bottom: 1px solid var(--line); }
.fold > div { padding: .8rem .9rem; font-size: .9375rem; }
.fold h4 { margin: 1rem 0 .2rem; font-size: .875rem; font-weight: 650; }
.fold > div > :first-child { margin-top: 0; }
.fold > div > :last-child { margin-bottom: 0; }
.fold.failed > summary b { color: var(--d); }
dl { display: grid; grid-template-columns: minmax(6rem, max-content) minmax(0, 1fr); gap: .2rem 1rem; margin: 0;
  font-size: .875rem; }
dt { color: var(--soft); }
dd { margin: 0; overflow-wrap: anywhere; }
.steps { display: flex; flex-wrap: wrap; justify-content: space-between; gap: .5rem 1rem; margin-top: 1.5rem;
  font-size: .875rem; }
.end { max-width: 74rem; margin: 0 auto; padding: 0 1.25rem 3rem; }
@media (max-width: 30rem) {
  body { font-size: 1rem; }
  .top { padding-top: 1.75rem; }
  dl { grid-template-columns: minmax(0, 1fr); gap: 0; }
  dd { margin-bottom: .4rem; }
}
COLOURS
@media print {
  :root { --ground: #fff; --card: #fff; --tint: #f4f4f4; --line: #bbb; --text: #000; --soft: #444; --accent: #000; }
  html { color-scheme: light; }
  body { font-size: 10.5pt; line-height: 1.45; }
  nav.chain, .skip, .steps { display: none; }
  .frame { display: block; }
  main { max-width: none; }
  .long .exchange { content-visibility: visible; }
  .query, figure, tr { break-inside: avoid; }
  .who, h2, h3, h4 { break-after: avoid; }
  figure pre { white-space: pre-wrap; overflow-wrap: anywhere; }
  .said a[href^="http"]::after { content: " (" attr(href) ")"; font-size: .85em; overflow-wrap: anywhere; }
}
"""

STYLE = _SHEET.replace(
    "COLOURS", "\n".join(f"figure .{name} {{ color: var(--{name}); }}" for name in COLOURS)
)
