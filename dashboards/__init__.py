"""Grafana's dashboards as files, and what draws them without Grafana."""
