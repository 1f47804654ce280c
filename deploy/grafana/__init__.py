"""The dashboards, as code: ``python -m deploy.grafana.make`` writes them into ``deploy/grafana/dashboards``."""
