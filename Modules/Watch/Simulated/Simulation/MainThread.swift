import Dispatch
import Foundation

/// Detects the main actor's thread. On systems other than Apple's, it may differ from the process's first thread.
enum MainThread {
    private static let key = DispatchSpecificKey<Bool>()
    private static let isMarked: Bool = {
        DispatchQueue.main.setSpecific(key: key, value: true)
        return true
    }()

    static var isCurrent: Bool { Thread.isMainThread || isMarked && DispatchQueue.getSpecific(key: key) == true }
}
