"""The dashboard of a mesh for Grafana."""

from typing import Any, NamedTuple

MESH = 'mesh=~"$mesh"'  # the choice at the top of the dashboard
COLUMNS = 24  # of Grafana's grid
GIVEN_UP = "dropped_journal_full|dropped_old|too_large|broker_refused|expired"


class Panel(NamedTuple):
    """One panel of the dashboard; a query without a rate or legend is a single number."""

    title: str
    unit: str
    queries: tuple[tuple[str, str], ...]  # expression, and the legend of each series
    width: int = 12


PANELS = (
    Panel(
        "Agents connected",
        "short",
        ((f"sum(meshwright_agents_connected{{{MESH}}})", ""),),
        4,
    ),
    Panel("Agents away", "short", ((f"sum(meshwright_agents_away{{{MESH}}})", ""),), 4),
    Panel("Brokers up", "short", ((f"sum(meshwright_broker_up{{{MESH}}})", ""),), 4),
    Panel(
        "Links of the plan that are down",
        "short",
        ((f"sum(meshwright_plan_links_down{{{MESH}}})", ""),),
        4,
    ),
    Panel(
        "Messages waiting on disk",
        "short",
        ((f"sum(meshwright_waiting_messages{{{MESH}}})", ""),),
        4,
    ),
    Panel("Interests", "short", ((f"sum(meshwright_interests{{{MESH}}})", ""),), 4),
    Panel(
        "Messages in the mesh",
        "cps",
        (
            (f"sum(rate(meshwright_taken_total{{{MESH}}}[1m]))", "taken from clients"),
            (f"sum(rate(meshwright_delivered_total{{{MESH}}}[1m]))", "published at brokers"),
            (f"sum(rate(meshwright_received_total{{{MESH}}}[1m]))", "over links"),
            (f'sum(rate(meshwright_events_total{{{MESH}, kind="relayed"}}[1m]))', "by relays"),
        ),
    ),
    Panel(
        "Published, by broker",
        "cps",
        ((f"rate(meshwright_delivered_total{{{MESH}}}[1m])", "{{name}}"),),
    ),
    Panel(
        "Taken, by broker", "cps", ((f"rate(meshwright_taken_total{{{MESH}}}[1m])", "{{name}}"),)
    ),
    Panel(
        "Busiest links",
        "cps",
        (
            (
                f"topk(10, rate(meshwright_link_received_total{{{MESH}}}[1m]))",
                "{{peer}} to {{name}}",
            ),
        ),
    ),
    Panel(
        "Waiting on disk, part of the limit",
        "percentunit",
        (
            (
                f"topk(10, meshwright_waiting_messages{{{MESH}}} / "
                f"meshwright_waiting_messages_limit{{{MESH}}} > 0)",
                "{{name}}: {{store}}, messages",
            ),
            (
                f"topk(10, meshwright_waiting_bytes{{{MESH}}} / "
                f"meshwright_waiting_bytes_limit{{{MESH}}} > 0)",
                "{{name}}: {{store}}, bytes",
            ),
        ),
    ),
    Panel(
        "Given up",
        "short",
        (
            (
                f'increase(meshwright_events_total{{{MESH}, kind=~"{GIVEN_UP}"}}[5m]) > 0',
                "{{name}}: {{kind}}",
            ),
        ),
    ),
    Panel(
        "Trouble",
        "short",
        (
            (
                f"sum by (kind) (increase(meshwright_events_total{{{MESH}, "
                'kind!="relayed"}[5m])) > 0',
                "{{kind}}",
            ),
        ),
    ),
    Panel(
        "Filters wanted",
        "short",
        (
            (f"sum(meshwright_filters_wanted{{{MESH}}})", "wanted"),
            (f"sum(meshwright_filters_in_doubt{{{MESH}}})", "of them in doubt"),
        ),
    ),
    Panel(
        "Links",
        "short",
        (
            (f"sum(meshwright_plan_links{{{MESH}}})", "planned"),
            (f"sum(meshwright_links{{{MESH}}}) / 2", "up"),
        ),
    ),
    Panel(
        "Version of the log",
        "none",
        (
            (f"max(meshwright_version{{{MESH}}})", "newest"),
            (f"min(meshwright_version{{{MESH}}})", "oldest"),
        ),
    ),
    Panel(
        "Designs",
        "s",
        (
            (f"meshwright_design_seconds{{{MESH}}}", "the last one took"),
            (f"increase(meshwright_designs_total{{{MESH}}}[5m])", "in five minutes (count)"),
        ),
    ),
    Panel(
        "Files on disk",
        "bytes",
        ((f"topk(10, sum by (name) (meshwright_store_bytes{{{MESH}}}))", "{{name}}"),),
    ),
    Panel(
        "Software",
        "short",
        ((f"count by (version) (meshwright_info{{{MESH}}})", "{{version}}"),),
    ),
    Panel(
        "Hours since the start",
        "h",
        ((f"(time() - meshwright_start_time_seconds{{{MESH}}}) / 3600", "{{name}}"),),
    ),
)


def dashboard() -> dict[str, Any]:
    """Return the dashboard for Grafana, which asks for the data source when it is imported."""
    source = {"type": "prometheus", "uid": "${source}"}
    panels = []
    x = y = height = 0
    for number, panel in enumerate(PANELS, 1):
        if x + panel.width > COLUMNS:
            x, y = 0, y + height
        is_number = panel.queries[0][1] == ""
        height = 4 if is_number else 8
        panels.append(
            {
                "id": number,
                "type": "stat" if is_number else "timeseries",
                "title": panel.title,
                "datasource": source,
                "gridPos": {"x": x, "y": y, "w": panel.width, "h": height},
                "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
                "targets": [
                    {
                        "refId": chr(ord("A") + i),
                        "datasource": source,
                        "expr": expression,
                        "legendFormat": legend,
                    }
                    for i, (expression, legend) in enumerate(panel.queries)
                ],
            }
        )
        x += panel.width
    return {
        "title": "Meshwright",
        "uid": "meshwright",
        "tags": ["mqtt", "meshwright"],
        "schemaVersion": 39,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "templating": {
            "list": [
                {"name": "source", "label": "Source", "type": "datasource", "query": "prometheus"},
                {
                    "name": "mesh",
                    "label": "Mesh",
                    "type": "query",
                    "datasource": source,
                    "query": "label_values(meshwright_version, mesh)",
                    "includeAll": True,
                    "allValue": ".*",
                    "refresh": 2,
                },
            ]
        },
        "panels": panels,
    }
