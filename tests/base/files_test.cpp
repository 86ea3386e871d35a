#include "tenon/base/files.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "tenon/base/file_faults.h"
#include "tests/base/temporary_folder.h"
#include "tests/base/thrown.h"

namespace tenon::base {

using tests::TemporaryFolder;
using tests::thrown;

namespace {

// Runs the call in a process of its own; 0 for its normal end, else the signal or 256 + the exit status.
template <class Call>
int in_child(Call call) {
    const pid_t child = ::fork();
    if (child == 0) {
        int status = 0;
        try {
            call();
        } catch (...) {
            status = 1;
        }
        ::_exit(status);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status) == 0 ? 0 : 256 + WEXITSTATUS(status);
}

std::vector<std::string> names(const FileFaults& faults) {
    std::vector<std::string> result;
    for (const auto& call : faults.calls()) result.emplace_back(operation_name(call.operation));
    return result;
}

int64_t operations_of_a_replacement() {
    const TemporaryFolder folder;
    FileFaults counted;
    const FileHookScope scope(counted);
    write_file_atomically(folder / "a", "new");
    return counted.count();
}

}  // namespace

TEST(Files, ReplacingSyncsTheContentBeforeTheName) {
    const TemporaryFolder folder;
    FileFaults faults;
    const FileHookScope scope(faults);
    write_file_atomically(folder / "a", "new");
    EXPECT_EQ(names(faults), (std::vector<std::string>{"open", "write", "sync", "close", "rename", "sync_directory"}));
    EXPECT_EQ(read_file(folder / "a"), "new");
    EXPECT_EQ(list_directory(folder.path()), std::vector<std::string>{"a"});
}

TEST(Files, AFailureOfAnyOperationLeavesTheOldContent) {
    const int64_t operations = operations_of_a_replacement();
    ASSERT_GE(operations, 6);
    for (const int error : {ENOSPC, EIO, EACCES}) {
        for (int64_t n = 0; n < operations; ++n) {
            const TemporaryFolder folder;
            write_file_atomically(folder / "a", "old");
            FileFaults faults;
            faults.fail_at(n, error);
            const FileHookScope scope(faults);
            const std::string message = thrown([&] { write_file_atomically(folder / "a", "new"); });
            EXPECT_EQ(message.rfind("[file] " + folder.path(), 0), 0u) << message;
            EXPECT_NE(message.find(std::strerror(error)), std::string::npos) << message;
            // Only the last operation, the folder's sync, fails with the new file in place already.
            EXPECT_EQ(read_file(folder / "a"), n + 1 == operations ? "new" : "old") << n;
            EXPECT_EQ(list_directory(folder.path()), std::vector<std::string>{"a"}) << n;
        }
    }
}

TEST(Files, AFullDiskLeavesTheOldContent) {
    for (int64_t n = 0; n < operations_of_a_replacement() - 1; ++n) {
        const TemporaryFolder folder;
        write_file_atomically(folder / "a", "old");
        FileFaults faults;
        faults.fail_from(n, ENOSPC);
        {
            const FileHookScope scope(faults);
            EXPECT_NE(thrown([&] { write_file_atomically(folder / "a", "new"); }), "");
        }
        EXPECT_EQ(read_file(folder / "a"), "old") << n;
        remove_unfinished(folder.path());
        EXPECT_EQ(list_directory(folder.path()), std::vector<std::string>{"a"}) << n;
    }
}

TEST(Files, AKillBeforeAnyOperationLeavesTheOldOrTheNewContent) {
    const int64_t operations = operations_of_a_replacement();
    for (int64_t n = 0; n < operations; ++n) {
        const TemporaryFolder folder;
        write_file_atomically(folder / "a", "old");
        FileFaults faults;
        faults.stop_at(n);
        EXPECT_EQ(in_child([&] {
                      const FileHookScope scope(faults);
                      write_file_atomically(folder / "a", "new");
                  }),
                  SIGKILL);
        EXPECT_EQ(read_file(folder / "a"), n + 1 == operations ? "new" : "old") << n;
        for (const std::string& name : list_directory(folder.path())) EXPECT_TRUE(name == "a" || is_unfinished(name));
    }
}

TEST(Files, ShortWritesAreContinued) {
    const TemporaryFolder folder;
    std::string text(700000, 'x');
    for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 31 % 251);
    FileFaults faults;
    faults.keep_bytes(true);
    for (int64_t n = 1; n < 6; ++n) faults.shorten_at(n, 1000 * n + 1);
    const FileHookScope scope(faults);
    FileWriter writer(folder / "a");
    writer.write(std::string_view(text).substr(0, 100));
    writer.write(std::string_view(text).substr(100, 500000));
    writer.write(std::string_view(text).substr(500100));
    EXPECT_EQ(writer.size(), 700000);
    writer.commit();
    EXPECT_EQ(read_file(folder / "a"), text);
    EXPECT_EQ(faults.calls()[1].bytes, text.substr(0, 100));
    EXPECT_EQ(faults.calls()[2].offset, 100);
}

TEST(Files, WithoutCommitNothingRemains) {
    const TemporaryFolder folder;
    { FileWriter(folder / "a").write("text"); }
    EXPECT_TRUE(list_directory(folder.path()).empty());
}

TEST(AppendFile, GrowsAndIsCutBack) {
    const TemporaryFolder folder;
    {
        AppendFile log(folder / "log");
        log.append("one\n");
        EXPECT_EQ(read_file(folder / "log"), "");
        log.flush();
        EXPECT_EQ(read_file(folder / "log"), "one\n");
        log.append("two\n");
        EXPECT_EQ(log.size(), 8);
        log.sync();
        log.append("three\n");
    }
    EXPECT_EQ(read_file(folder / "log"), "one\ntwo\nthree\n");
    {
        AppendFile log(folder / "log");
        EXPECT_EQ(log.size(), 14);
        log.truncate(4);
        log.append("2\n");
        log.flush();
        EXPECT_NE(thrown([&] { log.truncate(7); }).find("cannot be cut to 7 bytes, it has 6"), std::string::npos);
    }
    EXPECT_EQ(read_file(folder / "log"), "one\n2\n");
}

TEST(AppendFile, GoesOnAtTheRightByteAfterAFailure) {
    const TemporaryFolder folder;
    FileFaults faults;
    faults.shorten_at(1, 3);
    faults.fail_at(2, ENOSPC);
    const FileHookScope scope(faults);
    AppendFile log(folder / "log");
    log.append("one\ntwo\n");
    EXPECT_EQ(thrown([&] { log.flush(); }), "[file] " + (folder / "log") + ": cannot append: " + std::strerror(ENOSPC) +
                                                "; free some space and try again");
    EXPECT_EQ(read_file(folder / "log"), "one");
    EXPECT_EQ(log.size(), 8);
    log.flush();
    EXPECT_EQ(read_file(folder / "log"), "one\ntwo\n");
}

TEST(Files, FoldersAreMadeListedAndRemoved) {
    const TemporaryFolder folder;
    make_directories(folder / "a/b/c");
    make_directories(folder / "a/b/c");
    EXPECT_FALSE(make_directory(folder / "a"));
    EXPECT_TRUE(make_directory(folder / "x"));
    write_file_atomically(folder / "a/b/2", "");
    write_file_atomically(folder / "a/b/10", "");
    ASSERT_EQ(::symlink((folder / "x").c_str(), (folder / "a/link").c_str()), 0);
    EXPECT_EQ(list_directory(folder / "a/b"), (std::vector<std::string>{"10", "2", "c"}));
    rename_path(folder / "a/b", folder / "x/b");
    EXPECT_EQ(file_size(folder / "x/b/2"), 0);
    remove_tree(folder / "a");
    EXPECT_FALSE(exists(folder / "a"));
    EXPECT_TRUE(is_directory(folder / "x")) << "a link was followed";
    remove_tree(folder / "a");
    sync_directory(folder.path());
    sync_file(folder / "x/b/2");
}

TEST(Files, ErrorsNameThePathAndTheReason) {
    const TemporaryFolder folder;
    const std::string missing = folder / "missing/file";
    EXPECT_EQ(thrown([&] { read_file(missing); }),
              "[file] " + missing + ": cannot open the file: No such file or directory");
    EXPECT_EQ(thrown([&] { MappedFile{missing}; }),
              "[file] " + missing + ": cannot open the file: No such file or directory");
    EXPECT_EQ(thrown([&] { read_file(folder.path()); }),
              "[file] " + folder.path() + ": cannot read the file: Is a directory");
    EXPECT_EQ(thrown([&] { FileWriter{missing}; }),
              "[file] " + missing + ": cannot create the file: No such file or directory");
    EXPECT_EQ(thrown([&] { list_directory(missing); }),
              "[file] " + missing + ": cannot list the folder: No such file or directory");
    EXPECT_EQ(thrown([&] { remove_file(missing); }),
              "[file] " + missing + ": cannot remove the file: No such file or directory");
    write_file_atomically(folder / "big", "0123456789");
    EXPECT_EQ(thrown([&] { read_file(folder / "big", 9); }),
              "[file] " + (folder / "big") + ": has 10 B; at most 9 B are read here");
    EXPECT_EQ(read_file(folder / "big", 10).size(), 10u);
}

TEST(Files, ReadsWhatHasNoSize) {
    EXPECT_NE(read_file("/proc/self/status").find("VmRSS"), std::string::npos);
    EXPECT_NE(thrown([] { read_file("/dev/zero", 100000); }).find("more than"), std::string::npos);
}

TEST(MappedFile, ShowsTheBytes) {
    const TemporaryFolder folder;
    const std::string text(100000, 'q');
    write_file_atomically(folder / "a", text);
    write_file_atomically(folder / "empty", "");
    MappedFile mapped(folder / "a");
    mapped.drop(1, 90000);
    MappedFile moved = std::move(mapped);
    EXPECT_EQ(moved.text(), text);
    EXPECT_EQ(MappedFile(folder / "empty").text(), "");
}

TEST(LockFile, ExcludesAnotherProcessUntilItsHolderIsGone) {
    const TemporaryFolder folder;
    const std::string path = folder / "lock";
    std::string message;
    {
        const LockFile lock(path);
        EXPECT_EQ(in_child([&] { LockFile second(path); }), 257);
        try {
            LockFile again(path);
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), Code::refused);
            message = error.what();
        }
    }
    EXPECT_EQ(message,
              "[lock] " + path + " is held by process " + std::to_string(::getpid()) + "; wait for it or stop it");
    EXPECT_EQ(in_child([&] { LockFile second(path); }), 0);
    // Killed holders leave no lock behind.
    EXPECT_EQ(in_child([&] {
                  LockFile held(path);
                  ::raise(SIGKILL);
              }),
              SIGKILL);
    const LockFile lock(path);
}

TEST(Files, PathsJoinAndSplit) {
    EXPECT_EQ(join_path("a", "b"), "a/b");
    EXPECT_EQ(join_path("a/", "b"), "a/b");
    EXPECT_EQ(join_path("", "b"), "b");
    EXPECT_EQ(join_path("a", "/b"), "/b");
    const struct {
        const char *path, *parent, *name;
    } cases[] = {{"a/b", "a", "b"},  {"a", ".", "a"},    {"/a", "/", "a"},
                 {"a/b/", "a", "b"}, {"a//b", "a", "b"}, {"/", "/", ""}};
    for (const auto& c : cases) {
        EXPECT_EQ(parent_path(c.path), c.parent) << c.path;
        EXPECT_EQ(file_name(c.path), c.name) << c.path;
    }
}

}  // namespace tenon::base
