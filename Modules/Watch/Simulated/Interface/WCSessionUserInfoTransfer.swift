public import Foundation

/// A user info dictionary on its way. Made by `WCSession`; safe to use from any thread.
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

    /// Whether it holds the newest data for the complication; no longer once newer ones were sent.
    open var isCurrentComplicationInfo: Bool {
        process?.read(false) { $0.isCurrentComplicationInfo(id, of: $1) } ?? wasCurrentComplicationInfo
    }

    /// The user info under transfer.
    open var userInfo: [String: Any] { content.dictionary }

    /// Whether it has been neither received, nor cancelled, nor given up.
    open var isTransferring: Bool { process?.read(false) { $0.isTransferring(id, on: .userInfo, of: $1) } ?? false }

    /// Takes it back, unless it has been transferred already; then nothing happens.
    open func cancel() { process?.write { $0.cancel(id, on: .userInfo, of: $1) } }

    // MARK: Archiving: what comes back knows what it held and is not under way.

    /// Whether the class supports secure coding: always true.
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
