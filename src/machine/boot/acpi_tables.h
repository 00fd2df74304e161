// The ACPI tables of the PC, in the BIOS's segment, where systems look for their root: a processor, its I/O APIC with
// the lines that lead elsewhere than their number says, the fixed ports (devices/acpi_ports.h), and the sleeping state
// that is "off". No devices: those of a PC lie where they always did.
// source: ACPI specification 1.0b, chapter 5; Multiple APIC Description Table: 2.0, section 5.2.10.4.
#pragma once

namespace zs::machine {

class PhysicalMemory;

void install_acpi_tables(PhysicalMemory& memory);
/// The same processor and I/O APIC for systems older than ACPI.
/// source: MultiProcessor Specification 1.4, chapter 4.
void install_mp_tables(PhysicalMemory& memory);

}  // namespace zs::machine
