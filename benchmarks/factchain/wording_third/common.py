"""Names that the languages of the third profile share: parts of paths, addresses and systems."""

COMMON = """
pkg: ferry, ledgerlite, tides, composer, inventory, beacon
src: reconcile, viewport, encoder, mailbox, planner, quota, bridge, watcher, sorter, digest
dir: slides, choir, harbor, recipes, tax-2025, photos, lease, workshop
host: tealanchor, northbarn, paperkite, stonelark, driftmill, amberquay, hollowpine, velvetcrane, redlantern
lib: Django, Elixir, Grafana, Nomad, Pandas, Vite
"""
