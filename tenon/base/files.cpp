// Everything that changes a file. Reading and mapping: files_read.cpp.
#include "tenon/base/files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "tenon/base/error.h"
#include "tenon/base/log.h"
#include "tenon/base/number.h"

namespace tenon::base {

namespace {

constexpr std::string_view unfinished_suffix = ".unfinished";
constexpr size_t buffer_bytes = size_t{256} << 10;

std::atomic<FileHook*> hook{nullptr};

FileAnswer ask(const FileCall& call) {
    FileHook* const installed = hook.load();
    return installed ? installed->before(call) : FileAnswer{};
}

// Asks the hook, then makes the call, again where a signal broke it off. Returns the call's result; errno is set on -1.
template <class Call>
int64_t perform(const FileCall& call, Call system) {
    const FileAnswer answer = ask(call);
    if (answer.error != 0) {
        errno = answer.error;
        return -1;
    }
    int64_t result = 0;
    do {
        result = system();
    } while (result < 0 && errno == EINTR);
    return result;
}

[[noreturn]] void fail(const std::string& path, std::string_view what, int error) {
    std::string message = path + ": " + std::string(what) + ": " + std::strerror(error);
    if (error == ENOSPC || error == EDQUOT) message += "; free some space and try again";
    throw Error(Code::file, "file", message);
}

void check(int64_t result, const std::string& path, std::string_view what) {
    if (result < 0) fail(path, what, errno);
}

// Writes all at `offset`, in as many calls as the system wants. Returns the errno, 0 when done; `done` says how far it
// came.
int write_all(int file, const std::string& path, std::string_view bytes, int64_t offset, int64_t& done) {
    done = 0;
    while (!bytes.empty()) {
        FileCall call{FileOperation::write, path, {}, bytes, offset, false};
        const FileAnswer answer = ask(call);
        if (answer.error != 0) return answer.error;
        size_t count = bytes.size();
        if (answer.at_most >= 0) count = std::min(count, static_cast<size_t>(answer.at_most));
        ssize_t written = 0;
        do {
            written = ::pwrite(file, bytes.data(), count, offset);
        } while (written < 0 && errno == EINTR);
        if (written < 0) return errno;
        if (written == 0) return EIO;  // no progress and no reason: a loop would never end
        bytes.remove_prefix(static_cast<size_t>(written));
        offset += written;
        done += written;
    }
    return 0;
}

// After a refused close the descriptor must still go.
int64_t close_file(int file, const std::string& path) {
    const FileAnswer answer = ask({FileOperation::close, path, {}, {}, 0, false});
    // Not repeated after EINTR: Linux has released the descriptor by then.
    const int result = ::close(file);
    if (answer.error != 0) {
        errno = answer.error;
        return -1;
    }
    return result < 0 && errno != EINTR ? -1 : 0;
}

int open_file(const std::string& path, int flags) {
    return static_cast<int>(perform({FileOperation::open, path, {}, {}, 0, false},
                                    [&] { return ::open(path.c_str(), flags | O_CLOEXEC, 0666); }));
}

int64_t sync_open_file(int file, const std::string& path) {
    return perform({FileOperation::sync, path, {}, {}, 0, false}, [&] { return ::fsync(file); });
}

int64_t remove_one(const std::string& path, bool directory) {
    return perform({FileOperation::remove, path, {}, {}, 0, directory},
                   [&] { return directory ? ::rmdir(path.c_str()) : ::unlink(path.c_str()); });
}

}  // namespace

std::string_view operation_name(FileOperation operation) noexcept {
    switch (operation) {
        case FileOperation::open:
            return "open";
        case FileOperation::write:
            return "write";
        case FileOperation::sync:
            return "sync";
        case FileOperation::close:
            return "close";
        case FileOperation::truncate:
            return "truncate";
        case FileOperation::rename:
            return "rename";
        case FileOperation::remove:
            return "remove";
        case FileOperation::make_directory:
            return "make_directory";
        case FileOperation::sync_directory:
            return "sync_directory";
    }
    return "?";
}

FileHookScope::FileHookScope(FileHook& installed) {
    FileHook* none = nullptr;
    if (!hook.compare_exchange_strong(none, &installed)) {
        throw Error(Code::failed, "file", "a file hook is installed already; only one can be");
    }
}

FileHookScope::~FileHookScope() {
    hook = nullptr;
}

// ---- FileWriter
// ------------------------------------------------------------------------------------------------------

FileWriter::FileWriter(std::string path) : path_(std::move(path)) {
    static std::atomic<int64_t> made{0};
    // A killed process with our number may have left a file of this name: processes in containers often share numbers.
    do {
        temporary_ =
            path_ + "." + std::to_string(::getpid()) + "-" + std::to_string(made++) + std::string(unfinished_suffix);
        file_ = open_file(temporary_, O_WRONLY | O_CREAT | O_EXCL);
    } while (file_ < 0 && errno == EEXIST);
    check(file_, path_, "cannot create the file");
    exists_ = true;
}

FileWriter::~FileWriter() {
    if (file_ >= 0) close_file(file_, temporary_);
    if (exists_ && remove_one(temporary_, false) < 0 && errno != ENOENT) {
        log_warning(temporary_ + ": cannot remove the unfinished file: " + std::strerror(errno));
    }
}

void FileWriter::write(const void* bytes, int64_t count) {
    const std::string_view data(static_cast<const char*>(bytes), static_cast<size_t>(count));
    if (buffer_.size() + data.size() > buffer_bytes) flush();
    if (data.size() < buffer_bytes) {
        buffer_.append(data);
        size_ += count;
        return;
    }
    int64_t done = 0;
    const int error = write_all(file_, temporary_, data, size_, done);
    if (error != 0) fail(path_, "cannot write the file", error);
    size_ += count;
}

void FileWriter::flush() {
    int64_t done = 0;
    const int error = write_all(file_, temporary_, buffer_, size_ - static_cast<int64_t>(buffer_.size()), done);
    if (error != 0) fail(path_, "cannot write the file", error);
    buffer_.clear();
}

void FileWriter::commit(bool sync_folder) {
    flush();
    check(sync_open_file(file_, temporary_), path_, "cannot sync the file");
    const int file = file_;
    file_ = -1;
    check(close_file(file, temporary_), path_, "cannot close the file");
    rename_path(temporary_, path_);
    exists_ = false;
    if (sync_folder) sync_directory(parent_path(path_));
}

void write_file_atomically(const std::string& path, std::string_view bytes) {
    FileWriter writer(path);
    writer.write(bytes);
    writer.commit();
}

// ---- AppendFile
// ------------------------------------------------------------------------------------------------------

AppendFile::AppendFile(std::string path) : path_(std::move(path)) {
    const bool is_new = !exists(path_);
    file_ = open_file(path_, O_WRONLY | O_CREAT);
    check(file_, path_, "cannot open the file to append");
    struct stat facts {};
    if (::fstat(file_, &facts) < 0) {
        const int error = errno;
        ::close(file_);
        fail(path_, "cannot read the file's size", error);
    }
    written_ = facts.st_size;
    sync_folder_ = is_new;
}

AppendFile::~AppendFile() {
    try {
        flush();
    } catch (const Error& error) {
        log_error(error.what());
    }
    if (close_file(file_, path_) < 0) log_error(path_ + ": cannot close the file: " + std::strerror(errno));
}

void AppendFile::append(std::string_view bytes) {
    buffer_.append(bytes);
}

void AppendFile::append(const void* bytes, int64_t count) {
    buffer_.append(static_cast<const char*>(bytes), static_cast<size_t>(count));
}

void AppendFile::flush() {
    int64_t done = 0;
    const int error = write_all(file_, path_, buffer_, written_, done);
    // What is out stays out: flush() may be tried again after an error and goes on at the right byte.
    buffer_.erase(0, static_cast<size_t>(done));
    written_ += done;
    if (error != 0) fail(path_, "cannot append", error);
}

void AppendFile::sync() {
    flush();
    check(sync_open_file(file_, path_), path_, "cannot sync the file");
    if (sync_folder_) sync_directory(parent_path(path_));
    sync_folder_ = false;
}

void AppendFile::truncate(int64_t length) {
    flush();
    if (length < 0 || length > written_) {
        throw Error(
            Code::file, "file",
            path_ + ": cannot be cut to " + std::to_string(length) + " bytes, it has " + std::to_string(written_));
    }
    check(perform({FileOperation::truncate, path_, {}, {}, length, false}, [&] { return ::ftruncate(file_, length); }),
          path_, "cannot cut the file");
    written_ = length;
}

// ---- Single operations
// -----------------------------------------------------------------------------------------------

bool make_directory(const std::string& path) {
    const int64_t made =
        perform({FileOperation::make_directory, path, {}, {}, 0, false}, [&] { return ::mkdir(path.c_str(), 0777); });
    if (made < 0 && errno == EEXIST) return false;
    check(made, path, "cannot make the folder");
    return true;
}

void make_directories(const std::string& path) {
    if (path.empty() || is_directory(path)) return;
    const std::string parent = parent_path(path);
    if (parent != path) make_directories(parent);
    if (!make_directory(path) && !is_directory(path)) fail(path, "cannot make the folder", EEXIST);
}

void sync_directory(const std::string& path) {
    const int64_t result = perform({FileOperation::sync_directory, path, {}, {}, 0, false}, [&]() -> int64_t {
        const int folder = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (folder < 0) return -1;
        const int synced = ::fsync(folder);
        const int error = errno;
        ::close(folder);
        // Some network and user-space file systems know no fsync of folders and order names themselves.
        if (synced < 0 && (error == EINVAL || error == ENOTSUP)) return 0;
        errno = error;
        return synced;
    });
    check(result, path, "cannot sync the folder");
}

void sync_file(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    check(file, path, "cannot open the file");
    const int64_t result = sync_open_file(file, path);
    const int error = errno;
    ::close(file);
    if (result < 0) fail(path, "cannot sync the file", error);
}

void rename_path(const std::string& from, const std::string& to) {
    check(perform({FileOperation::rename, from, to, {}, 0, false}, [&] { return ::rename(from.c_str(), to.c_str()); }),
          to, "cannot rename " + from + " to this");
}

void remove_file(const std::string& path) {
    check(remove_one(path, false), path, "cannot remove the file");
}

void remove_tree(const std::string& path) {
    struct stat facts {};
    if (::lstat(path.c_str(), &facts) < 0) {
        if (errno == ENOENT) return;
        fail(path, "cannot look at it to remove it", errno);
    }
    if (!S_ISDIR(facts.st_mode)) return remove_file(path);
    for (const std::string& name : list_directory(path)) remove_tree(join_path(path, name));
    check(remove_one(path, true), path, "cannot remove the folder");
}

bool is_unfinished(std::string_view name) noexcept {
    return name.size() > unfinished_suffix.size() &&
           name.substr(name.size() - unfinished_suffix.size()) == unfinished_suffix;
}

void remove_unfinished(const std::string& directory) {
    for (const std::string& name : list_directory(directory)) {
        if (is_unfinished(name)) remove_tree(join_path(directory, name));
    }
}

// ---- LockFile
// --------------------------------------------------------------------------------------------------------

namespace {

// flock's result and errno.
int try_lock(int file, int kind) {
    int locked = 0;
    do {
        locked = ::flock(file, kind | LOCK_NB);
    } while (locked < 0 && errno == EINTR);
    return locked;
}

}  // namespace

bool is_locked(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0 && errno == ENOENT) return false;
    check(file, path, "cannot open the lock file");
    const bool locked = try_lock(file, LOCK_SH) < 0 && errno == EWOULDBLOCK;
    ::close(file);
    return locked;
}

LockFile::LockFile(const std::string& path) {
    file_ = open_file(path, O_RDWR | O_CREAT);
    check(file_, path, "cannot open the lock file");
    int locked = try_lock(file_, LOCK_EX);
    // is_locked() holds it for the moment in which it looks.
    for (int again = 0; locked < 0 && errno == EWOULDBLOCK && again < 5; ++again) {
        ::usleep(2000);
        locked = try_lock(file_, LOCK_EX);
    }
    if (locked < 0) {
        const int error = errno;
        char holder[32] = {};
        const ssize_t count = ::pread(file_, holder, sizeof(holder) - 1, 0);
        ::close(file_);
        file_ = -1;
        if (error != EWOULDBLOCK) fail(path, "cannot lock the file", error);
        std::string_view who(holder, count > 0 ? static_cast<size_t>(count) : 0);
        while (!who.empty() && who.back() == '\n') who.remove_suffix(1);
        throw Error(Code::refused, "lock",
                    path + " is held by " + (parse_integer(who) ? "process " + std::string(who) : "another process") +
                        "; wait for it or stop it");
    }
    // For the message above only. A full disk must not keep anybody from locking.
    const std::string process = std::to_string(::getpid()) + "\n";
    int64_t done = 0;
    const auto cut = perform({FileOperation::truncate, path, {}, {}, 0, false}, [&] { return ::ftruncate(file_, 0); });
    if (cut == 0) write_all(file_, path, process, 0, done);
}

LockFile::~LockFile() {
    if (file_ >= 0) ::close(file_);
}

LockFile::LockFile(LockFile&& other) noexcept : file_(std::exchange(other.file_, -1)) {}

LockFile& LockFile::operator=(LockFile&& other) noexcept {
    std::swap(file_, other.file_);
    return *this;
}

}  // namespace tenon::base
