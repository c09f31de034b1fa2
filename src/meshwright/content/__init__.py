"""Assignment: which leaf broker each content-based subscriber attaches to, and every filter."""
