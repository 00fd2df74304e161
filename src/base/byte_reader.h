// Renamed: base/bytes.h. This line goes when nobody includes it any more.
#pragma once
#include "base/bytes.h"
