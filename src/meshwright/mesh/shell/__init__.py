"""The mesh on asyncio: connections, files and clocks around the core. It decides nothing."""
