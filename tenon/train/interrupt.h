// Ctrl-C and SIGTERM: the step in hand is finished and a checkpoint written; a second signal ends the process at once.
// SIGUSR1: a checkpoint after the step in hand, and on.
#pragma once

namespace tenon::train {

class InterruptScope {
public:
    InterruptScope();
    ~InterruptScope();
    InterruptScope(const InterruptScope&) = delete;
    InterruptScope& operator=(const InterruptScope&) = delete;

    // The signal that came, or 0.
    static int signal() noexcept;
};

// Wider than the other scope: a SIGUSR1 while data is read must not end the process, as it would by default.
class CheckpointRequestScope {
public:
    CheckpointRequestScope();
    ~CheckpointRequestScope();
    CheckpointRequestScope(const CheckpointRequestScope&) = delete;
    CheckpointRequestScope& operator=(const CheckpointRequestScope&) = delete;

    // Whether one came since the last look.
    static bool take() noexcept;
};

}  // namespace tenon::train
