// The one source of a layer that has no other yet.
