"""Numbers in, numbers out: locations and intervals. Nothing here knows what a packet is."""
