"""MQTT topic names and filters: match, cover, overlap, expand."""
