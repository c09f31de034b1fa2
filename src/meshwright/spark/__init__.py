"""The Spark session and what every pipeline shares."""
