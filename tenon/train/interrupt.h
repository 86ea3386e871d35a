// Ctrl-C and SIGTERM: the step in hand is finished and a checkpoint written; a second signal ends the process at once.
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

}  // namespace tenon::train
