"""The values that flow between rooms: frozen, validated once, arrays included."""
