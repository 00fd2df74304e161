# Header-only: zeroskid-run links this layer, and must not load a shared library for it.
target_link_libraries(zs_host PRIVATE fmt::fmt-header-only)
optimise_lightly(host)
