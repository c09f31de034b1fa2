"""The systems of paper 4, Tables 3 to 5, on samples of 1,000 nodes, beside the paper's ratios.

Chen, Tock, Girdzijauskas, "BeaConvey" (DEBS 2018), section 5.3. All ratios are against Scribe on
the overlay that knows nothing of interests. The paper's samples are of other graphs (Facebook 2009,
Twitter 2010), so the orderings are to be compared, not the digits.
"""

from __future__ import annotations

from meshwright.routing import simulate
from meshwright.smallworld import SmallWorld, design
from meshwright.values import Instance

OVERLAYS = {"SL": "sl", "S": "s", "L": "l", "-": "none"}
# Name, overlay, routing; then overhead and mean path of the paper for FB1K and TW1K.
SYSTEMS = (
    ("BeaConvey(SL, Pie)", "SL", "pie", (0.266, 0.700), (0.573, 0.902)),
    ("BeaConvey(S, Pie)", "S", "pie", (0.355, 0.902), (0.617, 1.273)),
    ("BeaConvey(L, Pie)", "L", "pie", (0.683, 0.780), (0.757, 0.931)),
    ("BeaConvey(-, Pie)", "-", "pie", (0.908, 1.07), (0.853, 1.357)),
    ("iScribe(SL)", "SL", "iscribe", (0.427, 0.992), (0.664, 1.041)),
    ("iScribe(S)", "S", "iscribe", (0.428, 0.975), (0.596, 1.020)),
    ("iScribe(L)", "L", "iscribe", (0.993, 0.987), (0.913, 1.007)),
    ("iScribe(-)", "-", "iscribe", (1.007, 1.004), (0.817, 1.008)),
    ("Scribe(SL)", "SL", "scribe", (0.914, 1.014), (0.853, 1.035)),
    ("Scribe(S)", "S", "scribe", (1.05, 0.976), (1.096, 1.019)),
    ("Scribe(L)", "L", "scribe", (0.675, 0.985), (0.714, 0.996)),
    ("Scribe(-)", "-", "scribe", (1.0, 1.0), (1.0, 1.0)),
    ("BeaConvey(SL, Po)", "SL", "po", (0.182, 0.794), (0.359, 1.145)),
    ("BeaConvey(SL, Pal)", "SL", "pal", (0.341, 0.729), (0.712, 0.928)),
)
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
        for system, letters, routing, _, _ in SYSTEMS
    }
    base = totals[BASE]
    print(f"{'':20} {'overhead':>8} {'paper':>6}   {'path':>6} {'paper':>6}   {'longest':>7}")
    for system, _, _, *paper in SYSTEMS:
        found = totals[system]
        overhead, path = paper[0] if name.startswith("fb") else paper[1]
        print(
            f"{system:20} {found['overhead'] / base['overhead']:8.3f} {overhead:6.3f}   "
            f"{found['hops_mean'] / base['hops_mean']:6.3f} {path:6.3f}   {found['hops_max']:7}"
        )
    print(
        f"{BASE} itself: {base['overhead'] / base['deliveries']:.3f} overhead per delivery, "
        f"mean path {base['hops_mean']:.2f}"
    )
