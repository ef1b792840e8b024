public import Foundation

/// A user info transfer. Created by `WCSession`; safe to use from any thread.
///
/// Source: https://developer.apple.com/documentation/watchconnectivity/wcsessionuserinfotransfer
open class WCSessionUserInfoTransfer: NSObject, NSSecureCoding {
    let id: UInt64
    private let process: AppProcess?
    private let content: PropertyList
    private let wasCurrentComplicationInfo: Bool

    init(id: UInt64, process: AppProcess?, content: PropertyList, isCurrentComplicationInfo: Bool = false) {
        self.id = id
        self.process = process
        self.content = content
        wasCurrentComplicationInfo = isCurrentComplicationInfo
    }

    /// True if the transfer holds the newest data for the complication.
    open var isCurrentComplicationInfo: Bool {
        process?.read(false) { $0.isCurrentComplicationInfo(id, of: $1) } ?? wasCurrentComplicationInfo
    }

    /// The user info being transferred.
    open var userInfo: [String: Any] { content.dictionary }

    /// True until the transfer has arrived, was cancelled or has failed.
    open var isTransferring: Bool { process?.read(false) { $0.isTransferring(id, on: .userInfo, of: $1) } ?? false }

    /// Cancels the transfer of the user info. Does nothing if it has arrived.
    open func cancel() { process?.write { $0.cancel(id, on: .userInfo, of: $1) } }

    // MARK: Archiving. A decoded transfer has its content, but is not in progress.

    /// True: the class supports secure coding.
    public static var supportsSecureCoding: Bool { true }

    open func encode(with coder: NSCoder) {
        guard let bytes = content.encoded else { return }
        coder.encode(bytes as NSData, forKey: "userInfo")
        coder.encode(isCurrentComplicationInfo, forKey: "isCurrentComplicationInfo")
    }

    public required init?(coder: NSCoder) {
        guard let bytes = coder.decodeObject(of: NSData.self, forKey: "userInfo"),
            let content = PropertyList(encoded: bytes as Data)
        else { return nil }
        id = 0
        process = nil
        self.content = content
        wasCurrentComplicationInfo = coder.decodeBool(forKey: "isCurrentComplicationInfo")
    }
}
