"""The systems of paper 4, Tables 3 to 5, on samples of two graphs, beside the paper's ratios.

Chen, Tock, Girdzijauskas, "BeaConvey" (DEBS 2018), section 5.3. All ratios are against Scribe on
the overlay that knows nothing of interests. The paper's samples are of other graphs (Facebook 2009,
Twitter 2010), so the orderings are to be compared, not the digits.
"""

from __future__ import annotations

from meshwright.routing import simulate
from meshwright.smallworld import SmallWorld, design
from meshwright.values import Instance

OVERLAYS = {"SL": "sl", "S": "s", "L": "l", "-": "none"}
COLUMNS = ("fb1k", "tw1k", "fb10k", "tw10k")
# Overlay and routing, then (overhead, mean path) of the paper for each of the columns.
SYSTEMS = {
    "BeaConvey(SL, Pie)": (
        "SL",
        "pie",
        [(0.266, 0.7), (0.573, 0.902), (0.449, 0.968), (0.748, 1.131)],
    ),
    "BeaConvey(S, Pie)": (
        "S",
        "pie",
        [(0.355, 0.902), (0.617, 1.273), (0.612, 1.629), (0.797, 1.252)],
    ),
    "BeaConvey(L, Pie)": (
        "L",
        "pie",
        [(0.683, 0.78), (0.757, 0.931), (0.827, 1.15), (1.018, 1.121)],
    ),
    "BeaConvey(-, Pie)": (
        "-",
        "pie",
        [(0.908, 1.07), (0.853, 1.357), (1.127, 2.088), (1.17, 1.31)],
    ),
    "iScribe(SL)": (
        "SL",
        "iscribe",
        [(0.427, 0.992), (0.664, 1.041), (0.636, 1.035), (0.768, 1.058)],
    ),
    "iScribe(S)": ("S", "iscribe", [(0.428, 0.975), (0.596, 1.02), (0.591, 1.007), (0.671, 1.001)]),
    "iScribe(L)": ("L", "iscribe", [(0.993, 0.987), (0.913, 1.007), (1.109, 1.024), (1.167, 1.04)]),
    "iScribe(-)": (
        "-",
        "iscribe",
        [(1.007, 1.004), (0.817, 1.008), (1.049, 0.9999), (1.016, 1.004)],
    ),
    "Scribe(SL)": ("SL", "scribe", [(0.914, 1.014), (0.853, 1.035), (0.908, 1.04), (0.894, 1.051)]),
    "Scribe(S)": ("S", "scribe", [(1.05, 0.976), (1.096, 1.019), (1.024, 1.007), (1.012, 0.999)]),
    "Scribe(L)": ("L", "scribe", [(0.675, 0.985), (0.714, 0.996), (0.819, 1.031), (0.841, 1.04)]),
    "Scribe(-)": ("-", "scribe", [(1.0, 1.0), (1.0, 1.0), (1.0, 1.0), (1.0, 1.0)]),
    "BeaConvey(SL, Po)": (
        "SL",
        "po",
        [(0.182, 0.794), (0.359, 1.145), (0.319, 1.3), (0.489, 1.688)],
    ),
    "BeaConvey(SL, Pal)": (
        "SL",
        "pal",
        [(0.341, 0.729), (0.712, 0.928), (0.557, 0.981), (0.917, 1.179)],
    ),
}
BASE = "Scribe(-)"


def compare(name: str, instance: Instance, publications: int, fingers: str, seed: int) -> None:
    """Print the systems on an instance; the twelve of Tables 3 and 4, then the others of 5."""
    worlds: dict[str, SmallWorld] = {}
    for letters, method in OVERLAYS.items():
        kind = {"fingers": fingers} if method in ("s", "none") else {}
        world = design(instance, method, certify=False, seed=seed, **kind)
        assert isinstance(world, SmallWorld)
        worlds[letters] = world
    print(
        f"\n{name}: {instance.n_nodes:,} nodes, {instance.n_subscriptions:,} subscriptions, "
        f"{publications:,} publications, {fingers} fingers where not by gain, seed {seed}"
    )
    for letters, world in worlds.items():
        print(f"  {letters:2} support {world.support:.3f}, {world.n_edges:,} links")
    totals = {
        system: simulate(worlds[letters], routing, publications=publications, seed=seed).totals
        for system, (letters, routing, _) in SYSTEMS.items()
    }
    base = totals[BASE]
    print(f"{'':20} {'overhead':>8} {'paper':>6}   {'path':>6} {'paper':>6}   {'longest':>7}")
    for system, (_, _, paper) in SYSTEMS.items():
        found, (overhead, path) = totals[system], paper[COLUMNS.index(name)]
        print(
            f"{system:20} {found['overhead'] / base['overhead']:8.3f} {overhead:6.3f}   "
            f"{found['hops_mean'] / base['hops_mean']:6.3f} {path:6.3f}   {found['hops_max']:7}"
        )
    print(
        f"{BASE} itself: {base['overhead'] / base['deliveries']:.3f} overhead per delivery, "
        f"mean path {base['hops_mean']:.2f}"
    )
