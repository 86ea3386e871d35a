#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "tenon/base/error.h"
#include "tenon/base/files.h"
#include "tenon/base/number.h"

namespace tenon::base {

namespace {

[[noreturn]] void fail(const std::string& path, std::string_view what, int error) {
    throw Error(Code::file, "file", path + ": " + std::string(what) + ": " + std::strerror(error));
}

class Descriptor {
public:
    explicit Descriptor(const std::string& path) : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
        if (file_ < 0) fail(path, "cannot open the file", errno);
        if (::fstat(file_, &facts) < 0 || S_ISDIR(facts.st_mode)) {
            const int error = S_ISDIR(facts.st_mode) ? EISDIR : errno;
            ::close(file_);
            fail(path, "cannot read the file", error);
        }
    }
    ~Descriptor() { ::close(file_); }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    operator int() const { return file_; }

    struct stat facts {};

private:
    int file_;
};

[[noreturn]] void too_large(const std::string& path, std::string_view size, int64_t limit) {
    throw Error(Code::file, "file",
                path + ": has " + std::string(size) + "; at most " + human_bytes(limit) + " are read here");
}

}  // namespace

std::string read_file(const std::string& path, int64_t limit) {
    const Descriptor file(path);
    if (S_ISREG(file.facts.st_mode) && file.facts.st_size > limit) {
        too_large(path, human_bytes(file.facts.st_size), limit);
    }
    std::string text;
    // One byte more than expected shows the end without another round; files of /proc say 0 and have more.
    size_t room = static_cast<size_t>(S_ISREG(file.facts.st_mode) ? file.facts.st_size : 0) + 1;
    for (size_t size = 0;;) {
        text.resize(size + std::max<size_t>(room, 4096));
        const ssize_t count = ::read(file, text.data() + size, text.size() - size);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) fail(path, "cannot read the file", errno);
        size += static_cast<size_t>(count);
        if (static_cast<int64_t>(size) > limit) too_large(path, "more than " + human_bytes(limit), limit);
        if (count == 0) {
            text.resize(size);
            return text;
        }
        room = size + 1 < text.size() ? text.size() - size : size;
    }
}

bool exists(const std::string& path) {
    struct stat facts {};
    if (::stat(path.c_str(), &facts) == 0) return true;
    if (errno == ENOENT || errno == ENOTDIR) return false;
    fail(path, "cannot look at the file", errno);
}

bool is_directory(const std::string& path) {
    struct stat facts {};
    return ::stat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode);
}

bool is_regular_file(const std::string& path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

int64_t file_size(const std::string& path) {
    struct stat facts {};
    if (::stat(path.c_str(), &facts) < 0) fail(path, "cannot read the file's size", errno);
    return facts.st_size;
}

std::vector<std::string> list_directory(const std::string& path) {
    DIR* const folder = ::opendir(path.c_str());
    if (!folder) fail(path, "cannot list the folder", errno);
    std::vector<std::string> names;
    errno = 0;
    while (const dirent* entry = ::readdir(folder)) {
        const std::string_view name = entry->d_name;
        if (name != "." && name != "..") names.emplace_back(name);
        errno = 0;
    }
    const int error = errno;
    ::closedir(folder);
    if (error != 0) fail(path, "cannot list the folder", error);
    std::sort(names.begin(), names.end());
    return names;
}

MappedFile::MappedFile(const std::string& path) {
    const Descriptor file(path);
    size_ = file.facts.st_size;
    if (size_ == 0) return;  // the system maps no empty range
    void* const mapped = ::mmap(nullptr, static_cast<size_t>(size_), PROT_READ, MAP_SHARED, file, 0);
    if (mapped == MAP_FAILED) fail(path, "cannot map the file (" + human_bytes(size_) + ")", errno);
    data_ = static_cast<const std::byte*>(mapped);
}

// munmap and madvise take void* though they change no byte.
static void* address(const std::byte* data) {
    return const_cast<std::byte*>(data);
}

MappedFile::~MappedFile() {
    if (data_) ::munmap(address(data_), static_cast<size_t>(size_));
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
}

std::string_view MappedFile::text() const noexcept {
    // Bytes seen as characters: char may alias anything.
    return {reinterpret_cast<const char*>(data_), static_cast<size_t>(size_)};
}

void MappedFile::drop(int64_t offset, int64_t count) const noexcept {
    const int64_t page = ::sysconf(_SC_PAGESIZE);
    const int64_t first = (std::max<int64_t>(offset, 0) + page - 1) / page * page;
    const int64_t last = std::min(offset + count, size_) / page * page;
    if (data_ && last > first) ::madvise(address(data_ + first), static_cast<size_t>(last - first), MADV_DONTNEED);
}

std::string join_path(std::string_view directory, std::string_view name) {
    if (directory.empty() || (!name.empty() && name.front() == '/')) return std::string(name);
    std::string path(directory);
    if (path.back() != '/') path += '/';
    return path.append(name);
}

std::string parent_path(std::string_view path) {
    while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
    const size_t slash = path.rfind('/');
    if (slash == std::string_view::npos) return ".";
    path = path.substr(0, slash);
    while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
    return path.empty() ? "/" : std::string(path);
}

std::string file_name(std::string_view path) {
    while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
    return std::string(path.substr(path.rfind('/') == std::string_view::npos ? 0 : path.rfind('/') + 1));
}

}  // namespace tenon::base
