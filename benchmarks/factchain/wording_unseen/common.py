"""Names that all languages of the unseen profile share: parts of paths, addresses and systems."""

COMMON = """
pkg: telemetry, playlist, scheduler, renderer, gateway, pantry
src: dedupe, handshake, tokenizer, throttle, palette, snapshot, routes, watchdog, merge, sampler
dir: 2023, scans, band, kitchen, old-laptop, backup, insurance, hobby
host: meadowlark, tinwhistle, saltmarsh, brambleway, lanternfish, copperpot, windfarmers, quietharbour, puddlejump
app: recipe app, crawler, sensor hub, quiz game, newsletter tool, photo importer
lib: NumPy, Svelte, Terraform, Celery, Tailwind, Flutter
"""
