import Foundation
import MeshBase
import SessionMeshWatchConnectivity
import Testing

// An app that was written for WatchConnectivitySwift 5. Only its import has changed. It uses every public name as that
// library's documentation does, and its first test is that it compiles. Such a file may also import the platform's own
// framework. That import isn't needed here, because this module provides the substitutes.

// MARK: - Requests

struct Recipe: Codable, Sendable, Equatable, Identifiable {
    let id: String
    var title: String
    var isFavorite = false
}

struct FetchRecipeRequest: WatchRequest {
    typealias Response = Recipe?
    let recipeID: String
}

struct ToggleFavoriteRequest: WatchRequest {
    typealias Response = Recipe
    let recipeID: String
}

struct FetchRecipesRequest: WatchRequest {
    typealias Response = [Recipe]
}

struct LogAnalyticsRequest: FireAndForgetRequest {
    let event: String
    let parameters: [String: String]
}

struct UserPreferences: Codable, Sendable, Equatable {
    var favoriteRecipeIDs: [String] = []
    var usesMetricUnits = true
    static let `default` = UserPreferences()
}

// MARK: - The phone's side

@MainActor
final class AppCoordinator {
    let connection: WatchConnection
    let sharedPreferences: SharedState<UserPreferences>
    private(set) var recipes = [Recipe(id: "1", title: "Soup"), Recipe(id: "2", title: "Bread")]
    private(set) var events: [String] = []
    private(set) var received: [URL] = []

    init(session: any WCSessionProviding) {
        connection = WatchConnection(session: session)
        sharedPreferences = SharedState(initialValue: UserPreferences.default, connection: connection)
        setupHandlers()
    }

    /// Makes the connection as an app does.
    static func makeDefaultConnection() -> WatchConnection { WatchConnection() }

    static func makeConnection(dates: JSONEncoder.DateEncodingStrategy) -> WatchConnection {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = dates
        return WatchConnection(session: WCSession.default, encoder: encoder, decoder: JSONDecoder())
    }

    private func setupHandlers() {
        connection.register(FetchRecipesRequest.self) { [weak self] _ in
            await MainActor.run { self?.recipes ?? [] }
        }
        connection.register(FetchRecipeRequest.self) { [weak self] request in
            await MainActor.run { self?.recipes.first { $0.id == request.recipeID } }
        }
        connection.register(ToggleFavoriteRequest.self) { [weak self] request in
            try await MainActor.run {
                guard let self else {
                    throw WatchConnectionError.handlerNotRegistered(requestType: "ToggleFavoriteRequest")
                }
                guard let index = self.recipes.firstIndex(where: { $0.id == request.recipeID }) else {
                    throw WatchConnectionError.decodingFailed(description: "Recipe not found")
                }
                self.recipes[index].isFavorite.toggle()
                var preferences = self.sharedPreferences.value
                preferences.favoriteRecipeIDs.append(request.recipeID)
                try? self.sharedPreferences.update(preferences)
                return self.recipes[index]
            }
        }
        connection.register(LogAnalyticsRequest.self) { [weak self] request in
            await MainActor.run {
                guard let self else { return VoidResponse() }
                self.events.insert(request.event, at: 0)
                return VoidResponse()
            }
        }
        connection.onFileReceived = { [weak self] file in
            if let metadata = file.metadata { _ = metadata["id"] as? String }
            self?.received.append(file.fileURL)
        }
    }
}

// MARK: - The watch's side

@MainActor
final class RecipeViewModel {
    let connection: WatchConnection
    let sharedPreferences: SharedState<UserPreferences>
    private(set) var recipes: [Recipe] = []
    private(set) var errorMessage: String?

    init(connection: WatchConnection) {
        self.connection = connection
        sharedPreferences = SharedState(
            initialValue: UserPreferences.default, connection: connection, encoder: JSONEncoder(),
            decoder: JSONDecoder())
    }

    func loadRecipes() async {
        do {
            recipes = try await connection.send(
                FetchRecipesRequest(), strategy: .messageWithUserInfoFallback, retryPolicy: .default)
            await logEvent("recipes_loaded", parameters: ["count": "\(recipes.count)"])
        } catch {
            errorMessage = "Failed to load recipes: \(error.localizedDescription)"
        }
    }

    func logEvent(_ name: String, parameters: [String: String] = [:]) async {
        await connection.send(LogAnalyticsRequest(event: name, parameters: parameters))
        await connection.send(LogAnalyticsRequest(event: name, parameters: parameters), strategy: .userInfoOnly)
    }

    func everyWayToSend() async throws {
        let first: Recipe? = try await connection.send(FetchRecipeRequest(recipeID: "1"))
        _ = first
        _ = try await connection.send(FetchRecipesRequest(), delivery: .immediate)
        _ = try await connection.send(
            FetchRecipesRequest(), strategy: .messageWithContextFallback, delivery: .queued, retryPolicy: .patient)
        _ = try await connection.send(FetchRecipesRequest(), strategy: .contextOnly, retryPolicy: .none)
        _ = try await connection.send(
            FetchRecipesRequest(), strategy: .messageOnly,
            retryPolicy: RetryPolicy(maxAttempts: 2, timeout: .seconds(5)))
        _ = try await connection.sendWhenReady(FetchRecipesRequest())
        _ = try await connection.sendWhenReady(
            FetchRecipesRequest(), strategy: .messageWithUserInfoFallback, maxAttempts: 5,
            connectionTimeout: .seconds(15))
    }

    func everythingElse() async throws {
        try await connection.waitForActivation()
        try await connection.waitForActivation(timeout: .seconds(30))
        try await connection.waitForConnection()
        try await connection.waitForConnection(timeout: .seconds(30))
        connection.cancelAllQueuedRequests()
        connection.cancelQueuedRequest(id: UUID())
        if !connection.sessionHealth.isHealthy { await connection.attemptRecovery() }
        if case .unhealthy(let suggestion) = connection.sessionHealth {
            errorMessage = suggestion.localizedDescription
        }
        _ = connection.sessionHealth.suggestion?.localizedDescription
        do {
            try sharedPreferences.update(UserPreferences(usesMetricUnits: false))
        } catch WatchConnectionError.encodingFailed {
            errorMessage = "Failed to save settings"
        }
        if let error = sharedPreferences.lastSyncError { errorMessage = error.localizedDescription }
        _ = connection.session.applicationContext
        _ = connection.session.receivedApplicationContext
        _ = connection.pendingRequestCount + connection.activeFileTransferCount
        _ = connection.isReachable && connection.isPaired && connection.isWatchAppInstalled
        switch connection.activationState {
        case .success(.activated): break
        case .success: errorMessage = "not yet"
        case .failure(let error): errorMessage = error.localizedDescription
        }
    }

    func files() async throws {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("data.json")
        let transfer = try await connection.transferFile(url, metadata: ["type": "backup", "count": 3])
        try await connection.transferFile(url)
        for await progress in transfer.progressUpdates { _ = Int(progress * 100) }
        try await transfer.waitForCompletion()
        _ = (transfer.fractionCompleted, transfer.isTransferring, transfer.isCompleted, transfer.fileURL)
        _ = (transfer.id, transfer.metadata?["type"] as? String)
        if let error: WatchConnectionError = transfer.error { errorMessage = error.errorDescription }
        transfer.cancel()
        for transfer: FileTransfer in connection.outstandingFileTransfers { transfer.cancel() }
        connection.cancelAllFileTransfers()
    }

    func streams() -> [Task<Void, Never>] {
        [
            Task {
                for await file in connection.receivedFiles { _ = (file.fileURL, file.metadata?["id"] as? String) }
            },
            Task {
                for await context in connection.receivedApplicationContexts { _ = context["myKey"] as? Data }
            },
            Task {
                for await event in connection.diagnosticEvents { note(event) }
            },
        ]
    }

    private func note(_ event: DiagnosticEvent) {
        switch event {
        case .sessionActivated, .sessionDeactivated, .sessionBecameInactive: break
        case .reachabilityChanged(let isReachable): _ = isReachable
        case .messageSent(let type, let duration): _ = (type, duration > .seconds(1))
        case .messageReceived(let type): _ = type
        case .deliveryFailed(let type, let error, let willRetry):
            print("[\(type)] failed: \(error), retry: \(willRetry)")
        case .fallbackUsed(let from, let to): print("Fallback: \(from) -> \(to)")
        case .requestQueued(let type, let size): _ = (type, size)
        case .queueFlushed(let count): _ = count
        case .requestExpired(let type): _ = type
        case .healthChanged(let from, let to): print("Health: \(from) -> \(to)")
        case .recoveryAttempted, .recoverySucceeded: break
        case .recoveryFailed(let error): _ = error.localizedDescription
        case .fileTransferStarted(let url, let hasMetadata): _ = (url, hasMetadata)
        case .fileTransferCompleted(let url): _ = url
        case .fileTransferFailed(let url, let error): _ = (url, error)
        case .fileReceived(let url, let hasMetadata): _ = (url, hasMetadata)
        case .applicationContextReceived: break
        case .requestEncodingFailed(let type): _ = type
        }
        _ = event.description
    }
}

// MARK: - Its previews and tests

/// A session of the app's own, with only those members of `WCSession` that the protocol names.
final class FlakySession: WCSessionProviding, @unchecked Sendable {
    private let system = WCSession.default
    weak var delegate: (any WCSessionDelegate)?
    var activationState: WCSessionActivationState = .activated
    var isReachable = false
    var applicationContext: [String: Any] = [:]
    var receivedApplicationContext: [String: Any] = [:]
    var isPaired = true
    var isWatchAppInstalled = true
    let outstandingUserInfoTransfers: [WCSessionUserInfoTransfer] = []
    let outstandingFileTransfers: [WCSessionFileTransfer] = []

    func activate() { delegate?.session(system, activationDidCompleteWith: activationState, error: nil) }
    func sendMessage(
        _ message: [String: Any], replyHandler: (([String: Any]) -> Void)?, errorHandler: ((any Error) -> Void)?
    ) { errorHandler?(WCError(.notReachable)) }
    func sendMessageData(_ data: Data, replyHandler: ((Data) -> Void)?, errorHandler: ((any Error) -> Void)?) {
        errorHandler?(WCError(.notReachable))
    }
    func updateApplicationContext(_ applicationContext: [String: Any]) throws {
        self.applicationContext = applicationContext
    }
    func transferUserInfo(_ userInfo: [String: Any]) -> WCSessionUserInfoTransfer { system.transferUserInfo(userInfo) }
    func transferFile(_ file: URL, metadata: [String: Any]?) -> WCSessionFileTransfer {
        system.transferFile(file, metadata: metadata)
    }
}

@MainActor
@Suite("An app's previews and tests for WatchConnectivitySwift compile and behave as before")
struct ReferenceSessions {
    @Test func `previews of every kind can be made, and set`() throws {
        let preview = PreviewWCSession()
        preview.activationState = .activated
        preview.isReachable = true
        preview.isPaired = true
        preview.isWatchAppInstalled = true
        preview.applicationContext = [:]
        preview.receivedApplicationContext = [:]
        preview.autoReply = true
        preview.sendMessageError = nil
        preview.updateContextError = WCError(.notReachable)
        preview.setMockResponse([Recipe(id: "1", title: "Soup")], for: FetchRecipesRequest.self)
        preview.clearMockResponses()
        preview.outstandingUserInfoTransfers = []
        preview.outstandingFileTransfers = []
        for session in [preview, .connected, .disconnected, .unpaired] {
            let viewModel = RecipeViewModel(connection: WatchConnection(session: session))
            #expect(viewModel.connection.isReachable == session.isReachable)
            #expect(viewModel.connection.isPaired == session.isPaired)
            session.simulateReachabilityChange(!session.isReachable)
            session.simulateReceivedApplicationContext(["key": 1])
            session.simulateReceivedMessage(Data("{}".utf8)) { _ in }
            #expect(session.receivedApplicationContext["key"] as? Int == 1)
        }
        #expect(WatchConnection(session: FlakySession()).isReachable == false)
    }

    @Test func `a mock returns its configured responses and counts requests`() throws {
        let mock = MockWCSession()
        mock.sendMessageResponse = Data("7".utf8)
        mock.sendMessageDelayMs = 0
        mock.autoReply = true
        mock.autoCompleteFileTransfer = false
        mock.transferFileError = nil
        let calls = Locked<[String]>([])
        mock.onActivate = { calls.withLock { $0.append("activate") } }
        mock.onSendMessageData = { _ in calls.withLock { $0.append("message") } }
        mock.onTransferUserInfo = { _ in calls.withLock { $0.append("user info") } }
        mock.onUpdateApplicationContext = { _ in calls.withLock { $0.append("context") } }
        mock.onTransferFile = { _, _ in calls.withLock { $0.append("file") } }
        mock.activate()
        mock.sendMessageData(Data(), replyHandler: nil, errorHandler: nil)
        mock.transferUserInfo(["key": 1])
        try mock.updateApplicationContext(["key": 1])
        let transfer = mock.transferFile(URL(fileURLWithPath: "/f"), metadata: ["key": 1])
        #expect(calls.withLock { $0 } == ["activate", "message", "user info", "context", "file"])
        let counts = [
            mock.activateCallCount, mock.sendMessageDataCallCount, mock.transferUserInfoCallCount,
            mock.updateApplicationContextCallCount, mock.transferFileCallCount,
        ]
        #expect(counts == [1, 1, 1, 1, 1])
        #expect(mock.lastSentMessageData == Data())
        #expect(mock.lastTransferredUserInfo?["key"] as? Int == 1)
        #expect(mock.lastUpdatedApplicationContext?["key"] as? Int == 1)
        #expect(mock.lastTransferredFileURL?.path == "/f")
        #expect(mock.lastTransferredFileMetadata?["key"] as? Int == 1)
        mock.simulateReceivedMessage(Data())
        mock.simulateReceivedMessage(Data()) { _ in }
        mock.simulateReceivedUserInfo([:])
        mock.simulateReceivedApplicationContext([:])
        mock.simulateReachabilityChange(true)
        mock.simulateFileTransferFinished(transfer, error: nil)
        mock.reset()
        #expect(mock.activateCallCount == 0 && mock.sendMessageResponse == nil)
    }
}

// MARK: - Types without a connection

@Suite("Code for WatchConnectivitySwift compiles and behaves as before")
struct ReferenceContract {
    @Test func `every error has its name, its arguments and words`() throws {
        let errors: [WatchConnectionError] = [
            .notActivated, .notReachable, .notPaired, .watchAppNotInstalled, .deliveryFailed(reason: "r"), .timeout,
            .cancelled, .replyFailed(reason: "r"), .encodingFailed(description: "d"), .decodingFailed(description: "d"),
            .handlerNotRegistered(requestType: "T"), .handlerError(description: "d"), .remoteError(description: "d"),
            .sessionError(code: 1, description: "d"), .sessionUnhealthy(reason: "r"), .fileNotFound(url: "/f"),
            .fileAccessDenied(url: "/f"), .insufficientSpace,
        ]
        #expect(Set(errors).count == 18)
        for error in errors {
            #expect(error.errorDescription?.isEmpty == false)
            #expect(try copy(error) == error)
        }
    }

    @Test func `errors are created from those of the session and the app`() {
        #expect(WatchConnectionError(wcError: WCError(.deviceNotPaired)) == .notPaired)
        #expect(WatchConnectionError(error: WCError(.insufficientSpace)) == .insufficientSpace)
        #expect(WatchConnectionError(error: WatchConnectionError.timeout) == .timeout)
    }

    /// Requires that a type is Codable, Hashable and Sendable, as everything that is sent or used as a key is.
    private func copy<Value: Codable & Hashable & Sendable>(_ value: Value) throws -> Value {
        try JSONDecoder().decode(Value.self, from: JSONEncoder().encode(value))
    }

    @Test func `strategies list their methods`() throws {
        let table: [(DeliveryStrategy, DeliveryMethod, DeliveryMethod?)] = [
            (.messageWithUserInfoFallback, .message, .userInfo), (.messageWithContextFallback, .message, .context),
            (.messageOnly, .message, nil), (.userInfoOnly, .userInfo, nil), (.contextOnly, .context, nil),
        ]
        for (strategy, primary, fallback) in table {
            #expect(strategy.primaryMethod == primary)
            #expect(strategy.fallbackMethod == fallback)
            #expect(strategy.hasFallback == (fallback != nil))
            #expect(DeliveryStrategy(rawValue: strategy.rawValue) == strategy)
            #expect(try copy(strategy) == strategy)
            #expect(try copy(primary) == primary)
        }
        #expect(DeliveryMethod.message.rawValue == "message")
        #expect(DeliveryMethod.userInfo.rawValue == "userInfo")
        #expect(DeliveryMethod.context.rawValue == "context")
    }

    @Test func `retry policies have their attempts and timeouts`() {
        #expect(RetryPolicy.default.maxAttempts == 3)
        #expect(RetryPolicy.default.timeout == .seconds(10))
        #expect(RetryPolicy.none.maxAttempts == 1)
        #expect(RetryPolicy.none.timeout == .seconds(10))
        #expect(RetryPolicy.patient.maxAttempts == 5)
        #expect(RetryPolicy.patient.timeout == .seconds(30))
        #expect(RetryPolicy(maxAttempts: 0).maxAttempts == 1)
        #expect(RetryPolicy(maxAttempts: -3, timeout: .seconds(1)).maxAttempts == 1)
        #expect(DeliveryMode.immediate.requiresImmediateReachability)
        #expect(!DeliveryMode.queued.requiresImmediateReachability)
    }

    @Test func `health suggests recovery only when it is bad`() {
        #expect(SessionHealth.healthy.isHealthy)
        #expect(SessionHealth.healthy.suggestion == nil)
        #expect(SessionHealth.healthy.description == "healthy")
        for suggestion in RecoverySuggestion.allCases {
            let health = SessionHealth.unhealthy(suggestion: suggestion)
            #expect(!health.isHealthy)
            #expect(health.suggestion == suggestion)
            #expect(health.description == "unhealthy(\(suggestion.rawValue))")
            #expect(!suggestion.localizedDescription.isEmpty)
        }
        #expect(
            RecoverySuggestion.allCases.map(\.rawValue) == ["restartWatch", "openCompanionApp", "restartBothDevices"])
    }

    @Test func `request and response frames can be written and read`() throws {
        let request = try WireRequest(request: ToggleFavoriteRequest(recipeID: "2"), isFireAndForget: false)
        #expect(request.typeName == "ToggleFavoriteRequest")
        #expect(try request.decodePayload(as: ToggleFavoriteRequest.self).recipeID == "2")
        let response = WireResponse(outcome: .success(Data("1".utf8)), requestID: request.requestID, timestamp: Date())
        #expect(try response.decodeSuccess(as: Int.self) == 1)
        let failure = WireResponse.failure(.timeout, requestID: request.requestID)
        #expect(failure.error == .timeout)
        #expect(throws: WatchConnectionError.timeout) { try failure.decodeSuccess(as: Int.self) }
        #expect(VoidResponse() == VoidResponse())
        let file = ReceivedFile(fileURL: URL(fileURLWithPath: "/f"), metadata: ["id": "1"])
        #expect(file.metadata?["id"] as? String == "1")
    }
}
