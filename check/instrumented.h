// SPDX-License-Identifier: MIT
#ifndef OL_CHECK_INSTRUMENTED_H
#define OL_CHECK_INSTRUMENTED_H
// Locks from outside, in C or C++ of their own: a shared object that GCC instrumented as for
// ThreadSanitizer. This is the other side of those calls, and of overlock/checked.h.
//
// Whatever several contexts can reach is in the world's memory: the objects that the client
// allocates, the contexts' stacks, and the shared object's variables, whose pages are mapped there
// a second time.
#include "claims.h"

#include <overlock/checked.h>
#include <overlock/ops.h>

#include <memory>

namespace ol::check {

class Foreign {
public:
    explicit Foreign(void *shared_object, const std::string &path);
    ~Foreign();
    Foreign(const Foreign &) = delete;
    Foreign &operator=(const Foreign &) = delete;

    const ol_checked_lock &table() const { return *table_; }
    const ol_lock_ops &ops() const;  // of its lock; a semaphore is one that holds one unit
    const SharedOps *shared() const; // null: there are no readers
    void declare_fifo();             // as the table does by `fifo`
    void join(World &world);         // from now on its calls go there
    Program prepared(Program program) const;

    // Its operations, for clients.
    static void call(void (*operation)(void *), void *o);
    static bool call(bool (*operation)(void *), void *o);

private:
    struct Parts;
    const ol_checked_lock *table_;
    std::unique_ptr<Parts> parts_;
};

} // namespace ol::check
#endif
