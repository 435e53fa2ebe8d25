"""Draws dashboards without Grafana, to be looked at: `python -m dashboards.picture --help`.

What is drawn is the committed JSON: its grid, its questions asked of a real Prometheus, its units and names. It is a
plain page and no Grafana: colours, legends and axes are only like it.
"""
