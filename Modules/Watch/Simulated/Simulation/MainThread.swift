import Dispatch
import Foundation

/// Whether the main actor's code runs here. Off Apple's systems that need not be the process's first thread.
enum MainThread {
    private static let key = DispatchSpecificKey<Bool>()
    private static let isMarked: Bool = {
        DispatchQueue.main.setSpecific(key: key, value: true)
        return true
    }()

    static var isCurrent: Bool { Thread.isMainThread || isMarked && DispatchQueue.getSpecific(key: key) == true }
}
