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
SYSTEMS = {  # overlay and routing
    "BeaConvey(SL, Pie)": ("SL", "pie"),
    "BeaConvey(S, Pie)": ("S", "pie"),
    "BeaConvey(L, Pie)": ("L", "pie"),
    "BeaConvey(-, Pie)": ("-", "pie"),
    "iScribe(SL)": ("SL", "iscribe"),
    "iScribe(S)": ("S", "iscribe"),
    "iScribe(L)": ("L", "iscribe"),
    "iScribe(-)": ("-", "iscribe"),
    "Scribe(SL)": ("SL", "scribe"),
    "Scribe(S)": ("S", "scribe"),
    "Scribe(L)": ("L", "scribe"),
    "Scribe(-)": ("-", "scribe"),
    "BeaConvey(SL, Po)": ("SL", "po"),
    "BeaConvey(SL, Pal)": ("SL", "pal"),
}
# Overhead and mean path of the systems in this order, each over that of Scribe(-).
PAPER = {
    "fb1k": (
        (
            0.266,
            0.355,
            0.683,
            0.908,
            0.427,
            0.428,
            0.993,
            1.007,
            0.914,
            1.05,
            0.675,
            1.0,
            0.182,
            0.341,
        ),
        (
            0.7,
            0.902,
            0.78,
            1.07,
            0.992,
            0.975,
            0.987,
            1.004,
            1.014,
            0.976,
            0.985,
            1.0,
            0.794,
            0.729,
        ),
    ),
    "tw1k": (
        (
            0.573,
            0.617,
            0.757,
            0.853,
            0.664,
            0.596,
            0.913,
            0.817,
            0.853,
            1.096,
            0.714,
            1.0,
            0.359,
            0.712,
        ),
        (
            0.902,
            1.273,
            0.931,
            1.357,
            1.041,
            1.02,
            1.007,
            1.008,
            1.035,
            1.019,
            0.996,
            1.0,
            1.145,
            0.928,
        ),
    ),
    "fb10k": (
        (
            0.449,
            0.612,
            0.827,
            1.127,
            0.636,
            0.591,
            1.109,
            1.049,
            0.908,
            1.024,
            0.819,
            1.0,
            0.319,
            0.557,
        ),
        (
            0.968,
            1.629,
            1.15,
            2.088,
            1.035,
            1.007,
            1.024,
            0.9999,
            1.04,
            1.007,
            1.031,
            1.0,
            1.3,
            0.981,
        ),
    ),
    "tw10k": (
        (
            0.748,
            0.797,
            1.018,
            1.17,
            0.768,
            0.671,
            1.167,
            1.016,
            0.894,
            1.012,
            0.841,
            1.0,
            0.489,
            0.917,
        ),
        (
            1.131,
            1.252,
            1.121,
            1.31,
            1.058,
            1.001,
            1.04,
            1.004,
            1.051,
            0.999,
            1.04,
            1.0,
            1.688,
            1.179,
        ),
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
        for system, (letters, routing) in SYSTEMS.items()
    }
    base = totals[BASE]
    print(f"{'':20} {'overhead':>8} {'paper':>6}   {'path':>6} {'paper':>6}   {'longest':>7}")
    for system, overhead, path in zip(SYSTEMS, *PAPER[name], strict=True):
        found = totals[system]
        print(
            f"{system:20} {found['overhead'] / base['overhead']:8.3f} {overhead:6.3f}   "
            f"{found['hops_mean'] / base['hops_mean']:6.3f} {path:6.3f}   {found['hops_max']:7}"
        )
    print(
        f"{BASE} itself: {base['overhead'] / base['deliveries']:.3f} overhead per delivery, "
        f"mean path {base['hops_mean']:.2f}"
    )
