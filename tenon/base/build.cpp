// Facts fixed when this library was built. CMake gives the macros; the commit and the digest of the
// sources come from a header that is made anew in each build.
#include <elf.h>
#include <link.h>

#include <cstring>

#include "tenon/base/commit.h"
#include "tenon/base/error.h"
#include "tenon/base/process.h"
#include "tenon/base/sha256.h"

namespace tenon::base {

namespace {

// The GNU build id: a note that the linker computes from the executable's content.
std::string build_id_note() {
    std::string found;
    dl_iterate_phdr(
        [](dl_phdr_info* object, size_t, void* result) {
            for (int i = 0; i < object->dlpi_phnum; ++i) {
                const auto& segment = object->dlpi_phdr[i];
                if (segment.p_type != PT_NOTE) continue;
                // The system mapped these bytes; the notes are read as they lie.
                const auto* at = reinterpret_cast<const uint8_t*>(object->dlpi_addr + segment.p_vaddr);
                const auto* const end = at + segment.p_memsz;
                while (end - at >= static_cast<std::ptrdiff_t>(sizeof(ElfW(Nhdr)))) {
                    ElfW(Nhdr) note;
                    std::memcpy(&note, at, sizeof(note));
                    const uint8_t* const name = at + sizeof(note);
                    const uint8_t* const content = name + ((note.n_namesz + 3) & ~3u);
                    if (content + note.n_descsz > end) break;
                    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0) {
                        *static_cast<std::string*>(result) = hex(content, note.n_descsz);
                    }
                    at = content + ((note.n_descsz + 3) & ~3u);
                }
            }
            return 1;  // the first object is the executable
        },
        &found);
    return found;
}

std::string identity() {
    std::string id = build_id_note();
    if (!id.empty()) return id;
    try {
        return sha256_hex_of_file("/proc/self/exe");
    } catch (const Error&) {
        return "unknown";
    }
}

}  // namespace

const Build& build() {
    static const Build facts = {TENON_VERSION,       TENON_COMMIT,     TENON_SOURCES, TENON_COMPILER,
                                TENON_COMPILE_FLAGS, TENON_BUILD_TYPE, identity()};
    return facts;
}

}  // namespace tenon::base
