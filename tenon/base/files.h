// The file layer. Whatever Tenon writes, renames or removes goes through here, so that a test can see, fail or stop any
// single operation. Errors are Error(file, "file", "<path>: <what failed>: <the system's text>").
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::base {

// ---- The hook
// --------------------------------------------------------------------------------------------------------

enum class FileOperation { open, write, sync, close, truncate, rename, remove, make_directory, sync_directory };
std::string_view operation_name(FileOperation operation) noexcept;

// One system call that changes a file or directory, about to be made.
struct FileCall {
    FileOperation operation;
    std::string path;
    std::string target;      // rename: the new name
    std::string_view bytes;  // write: what is to be written; valid during the call
    int64_t offset = 0;      // write: where in the file; truncate: the new length
    bool directory = false;  // remove: a directory
};

struct FileAnswer {
    int error = 0;         // not 0: the call is not made and fails with this errno
    int64_t at_most = -1;  // write: hand at most so many bytes to the system (a short write); -1: all
};

// Called before every operation, from any thread. It may end the process.
class FileHook {
public:
    virtual ~FileHook() = default;
    virtual FileAnswer before(const FileCall& call) = 0;
};

// Installs a hook for the whole process until the end of the scope. One at a time. Ready-made faults: file_faults.h.
class FileHookScope {
public:
    explicit FileHookScope(FileHook& hook);
    ~FileHookScope();
    FileHookScope(const FileHookScope&) = delete;
    FileHookScope& operator=(const FileHookScope&) = delete;
};

// ---- Writing
// ---------------------------------------------------------------------------------------------------------

// Writes a new file beside `path` under a temporary name and puts it in place at commit(). Until then, and after any
// error, `path` is what it was. The destructor removes what was not committed. One thread at a time.
class FileWriter {
public:
    explicit FileWriter(std::string path);
    ~FileWriter();
    FileWriter(const FileWriter&) = delete;
    FileWriter& operator=(const FileWriter&) = delete;

    void write(std::string_view bytes) { write(bytes.data(), static_cast<int64_t>(bytes.size())); }
    void write(const void* bytes, int64_t count);
    int64_t size() const noexcept { return size_; }  // bytes taken so far
    // Writes the rest, fsync, close, rename, and fsync of the folder unless the caller does that for many files at
    // once.
    void commit(bool sync_folder = true);

private:
    void flush();

    std::string path_, temporary_;
    std::string buffer_;
    int file_ = -1;
    int64_t size_ = 0;
    bool exists_ = false;
};

// Old content or new content, durable on return.
void write_file_atomically(const std::string& path, std::string_view bytes);

// A log that grows: opened at its end, created where absent. append() gathers bytes, flush() hands them to the system
// in one write (they survive the process), sync() makes them survive the machine. The destructor flushes and reports a
// failure on the log: call flush() where it matters. One thread at a time.
class AppendFile {
public:
    explicit AppendFile(std::string path);
    ~AppendFile();
    AppendFile(const AppendFile&) = delete;
    AppendFile& operator=(const AppendFile&) = delete;

    void append(std::string_view bytes);
    void append(const void* bytes, int64_t count);
    void flush();
    void sync();
    // Cuts the file; a length above size() is an error. Gathered bytes are flushed first.
    void truncate(int64_t length);
    int64_t size() const noexcept { return written_ + static_cast<int64_t>(buffer_.size()); }
    const std::string& path() const noexcept { return path_; }

private:
    std::string path_, buffer_;
    int file_ = -1;
    int64_t written_ = 0;
    bool sync_folder_ = false;  // the file is new: its name must survive the machine, too
};

bool make_directory(const std::string& path);    // false where it exists already; its parent must exist
void make_directories(const std::string& path);  // with its parents; no error where they exist
void sync_directory(const std::string& path);
void sync_file(const std::string& path);
void rename_path(const std::string& from, const std::string& to);  // replaces a file, or an empty directory, at `to`
void remove_file(const std::string& path);                         // must exist
void remove_tree(const std::string& path);                         // no error where absent; links are not followed

// Names that FileWriter gives to unfinished files. Readers skip them; who holds the folder's lock may remove them.
bool is_unfinished(std::string_view file_name) noexcept;
void remove_unfinished(const std::string& directory);

// ---- Reading
// ---------------------------------------------------------------------------------------------------------

// The whole file (or pipe); more than `limit` bytes is an error that names both sizes.
std::string read_file(const std::string& path, int64_t limit = int64_t{1} << 30);
bool exists(const std::string& path);  // follows links; an unreadable parent is an error
bool is_directory(const std::string& path);
bool is_regular_file(const std::string& path);  // follows links
int64_t file_size(const std::string& path);
std::vector<std::string> list_directory(const std::string& path);  // names, sorted by bytes, without . and ..

// A read-only view of a whole file. The file must not shrink meanwhile (the process would get SIGBUS): Tenon's own
// files are replaced by rename, never rewritten.
class MappedFile {
public:
    MappedFile() = default;
    explicit MappedFile(const std::string& path);
    ~MappedFile();
    MappedFile(MappedFile&& other) noexcept;
    MappedFile& operator=(MappedFile&& other) noexcept;

    const std::byte* data() const noexcept { return data_; }
    int64_t size() const noexcept { return size_; }
    std::string_view text() const noexcept;
    // Lets the system forget the pages that lie wholly within [offset, offset + count); they are read again when
    // touched.
    void drop(int64_t offset, int64_t count) const noexcept;

private:
    const std::byte* data_ = nullptr;
    int64_t size_ = 0;
};

// ---- Locks and names
// -------------------------------------------------------------------------------------------------

// Holds `path` exclusively (flock) until destroyed or the process ends. Held elsewhere: Error(refused, "lock") that
// names the holder's process. The file stays behind; only the lock counts. Works between processes of one machine, and
// over NFSv4.
class LockFile {
public:
    explicit LockFile(const std::string& path);
    ~LockFile();
    LockFile(LockFile&& other) noexcept;
    LockFile& operator=(LockFile&& other) noexcept;

private:
    int file_ = -1;
};

// Whether somebody holds the lock now; false where there is no such file. Looking takes nothing from who wants it.
bool is_locked(const std::string& path);

std::string join_path(std::string_view directory, std::string_view name);
std::string parent_path(std::string_view path);  // "." where there is none
std::string file_name(std::string_view path);

}  // namespace tenon::base
