"""The dashboards of Grafana as code: what they show, and how they are written."""
