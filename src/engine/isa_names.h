// Registers, instructions and what they do go by their bare names in the engine.
#pragma once

namespace zs::isa {}

namespace zs::engine {
using namespace isa;
}
