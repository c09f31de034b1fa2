"""The facts of a deployment that a report shows: who dials whom, loads, failures, restarts."""

from dataclasses import asdict
from typing import Any

from meshwright.deploy.failures import Failure, failures, n_deliveries
from meshwright.deploy.loads import Load, link_loads
from meshwright.deploy.plan import FILE, Broker, Plan
from meshwright.deploy.read import Conf
from meshwright.deploy.restart import compare_confs, start_order
from meshwright.deploy.route import Link
from meshwright.deploy.validate import validate
from meshwright.report.distributions import short
from meshwright.storage.manifest import read_json

MOST_FINDINGS = 20  # listed


def deployment_facts(label: str, conf: Conf, before: Conf | None) -> dict[str, Any]:
    """Return the facts of a deployment; `before` is the one that runs now, if one does."""
    plan = conf.plan
    made, summary = read_json(conf.path / FILE), plan.summary()
    loads, findings = link_loads(plan), validate(conf)
    return {
        "label": label,
        "created": str(made.get("created", "")),
        "command": str(made.get("command", "")),
        "workload_digest": plan.workload_digest,
        "method": plan.method,
        "tree": plan.tree,
        "qos": plan.qos,
        "layout": plan.layout,
        "lock_down": plan.lock_down and any(broker.username for broker in plan.brokers),
        "security": summary["security"],
        "n_brokers": len(plan.brokers),
        "n_links": len(plan.links),
        "n_topics": len(plan.routes),
        "relayed_topics": summary["relayed_topics"],
        "reaches_relays": any(route.reaches_relays for route in plan.routes),
        "n_findings": len(findings),
        "findings": findings[:MOST_FINDINGS],
        "rates_known": any(route.rates for route in plan.routes),
        "messages": short(sum(load.messages for load in loads.values())),
        "bytes": short(sum(load.bytes for load in loads.values())),
        "links": link_facts(plan, loads),
        **broker_facts(plan, loads),
        "restart": restart_facts(conf, before),
    }


def link_facts(plan: Plan, loads: dict[Link, Load]) -> list[dict[str, Any]]:
    """Return each link with what crosses it, the busiest first."""
    brokers = {broker.node: broker for broker in plan.brokers}
    order = sorted(plan.links, key=lambda w: (-loads[w].messages, -len(loads[w].topics), w))
    measures = ("messages_out", "messages_in", "bytes_out", "bytes_in")
    return [
        {
            "from": link[0],
            "to": link[1],
            "address": brokers[link[1]].endpoint,
            "n_topics": len(loads[link].topics),
            "topics": [list(entry) for entry in sorted(loads[link].topics)],
            **{name: short(getattr(loads[link], name)) for name in measures},
        }
        for link in order
    ]


def broker_facts(plan: Plan, loads: dict[Link, Load]) -> dict[str, Any]:
    """Return each broker with its links and the cost of its failure, the costliest first."""
    cost, total = failures(plan), n_deliveries(plan)
    ends: dict[str, list[Link]] = {node: [] for node in plan.nodes}
    for link in plan.links:
        for node in link:
            ends[node].append(link)
    relays = dict.fromkeys(plan.nodes, 0)
    for node in (node for route in plan.routes for node in route.relays):
        relays[node] += 1

    def facts(broker: Broker) -> dict[str, Any]:
        node = broker.node
        mine = [loads[link] for link in ends[node]]
        return {
            "node": node,
            "address": broker.endpoint,
            "dials": [v for u, v in ends[node] if u == node],
            "dialled_by": [u for u, v in ends[node] if v == node],
            "topics": len({name for load in mine for name, _ in load.topics}),
            "relays": relays[node],
            "messages": short(sum(load.messages for load in mine)),
            "failure": asdict(cost[node]),
        }

    order = sorted(plan.brokers, key=lambda b: costliest(b.node, cost[b.node]))
    worst = order[0].node if order else ""
    return {
        "brokers": [facts(broker) for broker in order],
        "n_deliveries": total,
        "worst": failure_facts(worst, cost[worst], total) if worst else None,
    }


def costliest(node: str, cost: Failure) -> tuple[int, int, str]:
    """Return the key that sorts the failure of the most deliveries, then topics, first."""
    return -cost.deliveries, -cost.topics, node


def failure_facts(node: str, cost: Failure, total: int) -> dict[str, Any] | None:
    """Return what the costliest failure costs, None if no failure costs others anything."""
    if not cost.deliveries:
        return None
    return {"node": node, "share": short(cost.deliveries / total), **asdict(cost)}


def restart_facts(conf: Conf, before: Conf | None) -> dict[str, Any]:
    """Return the order of restarts: from the deployment before, or of the first start."""
    if before is None:
        steps = [{"action": "start", "node": node} for node in start_order(conf.plan)]
        return {"before": None, "steps": steps}
    change = compare_confs(before, conf)
    return {"before": str(before.path.name), "steps": [asdict(step) for step in change.steps]}
