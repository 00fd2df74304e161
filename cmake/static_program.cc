// What static programs have in place of functions that are not there for them (link_static() names those).
extern "C" long zs_nothing();
extern "C" long zs_nothing() { return 0; }
