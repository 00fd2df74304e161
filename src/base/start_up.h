// The first pages of a program, made present all at once. Where a page fault costs 13 us (virtual machines without
// nested paging in hardware), those of a start are most of what a short command takes.
#pragma once

namespace zs {

/// What malloc gives out first. At the beginning of main(); what comes before it has its own: zs_start, the entry of
/// zeroskid-run, makes the data of its file present that is not constant, and goes on as C programs start. Code is not
/// asked for: of both programs a run uses a small part, and the kernel maps sixteen pages of a file at each fault.
void populate_heap();

/// What malloc gives out from here on lies in large pages, where the host has some: one fault for 2 MiB. For a process
/// that is about to use many of them.
void use_large_heap_pages();

}  // namespace zs
